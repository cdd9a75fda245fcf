"""A cluster on the laboratory's hosts, made as deploy/README.md tells an operator to make one."""
import json
import os
import shutil
import subprocess

from namespaces import CannotRun, wait_until

from . import hosts
from .hosts import UNITS, Host, Switch

PORT = 7400
NODES = "/usr/local/bin/lockstep-lab"  # what the nodes run, in place of the program that the units name
# The store `workbench` is there for the laboratory's workloads. The operator's program does not know it, so lockstep-lab
# makes and runs the nodes, by the same code; lockstep, beside it, asks them.
STORES = ["--store", "counters", "--store", "search", "--store", "workbench"]


class Node:
    """A node on a host: its unit, and its folder."""

    def __init__(self, host, role):
        self.host, self.role = host, role
        self.unit = f"lockstep-{role}"
        self.data = f"/var/lib/lockstep/{role}"
        self.name = f"node-{host.name}"
        self.endpoint = f"tcp://{host.address}:{PORT}"
        self.options = ["--insecure", "--log-level", "info"]

    def configure(self, primary):
        """Writes the environment file that the unit reads."""
        lines = [] if self.role == "primary" else [f"LOCKSTEP_PRIMARY={primary}"]
        lines += [f"LOCKSTEP_LISTEN={self.endpoint}", "LOCKSTEP_OPTIONS=" + " ".join(self.options)]
        with open(self.host.path(f"/etc/lockstep/{self.role}.env"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def start(self):
        self.host.ask("start", name=self.unit, unit=f"{UNITS}/{self.unit}.service", program=NODES)

    def stop(self):
        return self.host.ask("stop", name=self.unit)["killed"] is False

    def kill(self, hold=False):
        return self.host.ask("kill", name=self.unit, hold=hold)["hit"]

    def signal(self, name):
        return self.host.ask("signal", name=self.unit, signal=name)["hit"]

    def process(self):
        """What the host knows of the node's process."""
        return self.host.ask("state")["units"].get(self.unit)


class Laboratory:
    """Hosts `a` (the primary), `b` and further letters (replicas), `x` (joins later), `k` (clients), and the switch."""

    def __init__(self, program, lab_program, replicas=2):
        self.program, self.lab_program = program, lab_program
        self.hosts = {}
        letters = ["a"] + [chr(ord("b") + number) for number in range(replicas)] + ["x", "k"]
        for number, letter in enumerate(letters, start=1):
            self.hosts[letter] = Host(letter, number)
        self.switch = Switch()
        self.nodes = {}  # letter -> Node
        self.cluster = None

    # MARK: up

    def build(self, seed=0):
        """Makes the hosts and connects them."""
        for name in ["switch"] + list(self.hosts):
            subprocess.check_call(["ip", "netns", "add", hosts.PREFIX + name])
        self.switch.start(list(self.hosts.values()), seed)
        for host in self.hosts.values():
            host.boot()
            self.install(host, self.program, "/usr/local/bin/lockstep")
            self.install(host, self.lab_program)

    def install(self, host, program, place=NODES):
        """Puts a build of a program on a host."""
        target = host.path(place)
        copy = f"{hosts.folder()}/program-{abs(hash(program)):x}"
        if not os.path.exists(copy):
            shutil.copy(program, copy)
        # A new file under the old name: the running process keeps the old one.
        with open(copy, "rb") as source, open(target + ".new", "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        os.chmod(target + ".new", 0o755)
        os.replace(target + ".new", target)

    def create(self):
        """Makes and starts the primary and the replicas."""
        for letter, host in self.hosts.items():
            if letter not in ("k", "x"):
                self.add(letter, "primary" if letter == "a" else "replica")
        for node in self.nodes.values():
            node.start()
        if not wait_until(lambda: all(ready(self.status(letter)) for letter in self.nodes), 30, 0.2):
            raise RuntimeError(f"the cluster did not become ready; see the logs below {hosts.folder()}")
        return self

    def add(self, letter, role="replica", name=None):
        """Makes a node on a host, as `lockstep-lab init` does it, and configures it; does not start it."""
        host = self.hosts[letter]
        node = Node(host, role)
        node.name = name or node.name
        command = [NODES, "init", "--data", node.data, "--node", node.name, "--json"] + STORES
        if self.cluster:
            command += ["--cluster", self.cluster]
        answer = json.loads(host.call(*command).strip().splitlines()[-1])
        self.cluster = answer["cluster"]
        self.nodes[letter] = node
        node.configure(self.nodes["a"].endpoint)
        return node

    # MARK: a laboratory of another process

    def save(self):
        """Notes what another command has to know."""
        roles = {letter: [node.role, node.name] for letter, node in self.nodes.items()}
        with open(f"{hosts.folder()}/lab.json", "w", encoding="utf-8") as file:
            json.dump({"program": self.program, "lab_program": self.lab_program, "replicas": len(self.hosts) - 3,
                       "cluster": self.cluster, "nodes": roles}, file)

    @classmethod
    def load(cls):
        """The laboratory that is up."""
        try:
            with open(f"{hosts.folder()}/lab.json", encoding="utf-8") as file:
                saved = json.load(file)
        except FileNotFoundError as error:
            raise CannotRun("no laboratory is up: begin with deploy/lab up") from error
        laboratory = cls(saved["program"], saved["lab_program"], saved["replicas"])
        laboratory.cluster = saved["cluster"]
        for letter, (role, name) in saved["nodes"].items():
            laboratory.nodes[letter] = Node(laboratory.hosts[letter], role)
            laboratory.nodes[letter].name = name
        for host in laboratory.hosts.values():
            host.find()
        return laboratory

    # MARK: looking

    def status(self, letter, limit=3):
        """What a node says of itself; None if it does not answer."""
        node = self.nodes[letter]
        try:
            asked = subprocess.run(
                [self.program, "status", "--json", "--data", node.host.path(node.data)], capture_output=True,
                timeout=limit)
            return json.loads(asked.stdout) if asked.returncode == 0 else None
        except (subprocess.TimeoutExpired, ValueError):
            return None

    def store(self, letter, name):
        """One store of a node's status."""
        status = self.status(letter)
        return next((store for store in status["stores"] if store["name"] == name), None) if status else None


def ready(status):
    """Whether all stores of a node serve."""
    return bool(status) and all(store["phase"] in ("admitting", "live") for store in status["stores"])
