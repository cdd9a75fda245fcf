"""A cluster on the laboratory's hosts, made as deploy/README.md tells an operator to make one."""
import concurrent.futures
import json
import os
import shutil
import subprocess

from namespaces import CannotRun, wait_until

from . import hosts
from .etcd import Etcd
from .hosts import UNITS, Host, Switch

PORT = 7400
METRICS = "127.0.0.1:9100"  # of each node, for its own host alone
NODES = "/usr/local/bin/lockstep-lab"  # what the nodes run, in place of the program that the units name
# The store `workbench` is there for the laboratory's workloads. The operator's program does not know it, so lockstep-lab
# makes and runs the nodes, by the same code; lockstep, beside it, asks them.
OPERATOR = "/usr/local/bin/lockstep"  # the operator's program
# Where each host has the access list; the key files and the nodes' public keys of hosts without a node are in /etc.
ACCESS = "/var/lib/lockstep/access.json"
NODE_KEYS = "/etc/lockstep/nodes.json"
STORES = ("counters", "search", "workbench")
MINIMUM = 2  # data nodes that must have what is acknowledged


class Node:
    """A node on a host: its unit, and its folder."""

    def __init__(self, host, role, plaintext=False):
        self.host, self.role = host, role
        self.unit = f"lockstep-{role}"
        self.data = f"/var/lib/lockstep/{role}"
        self.name = f"node-{host.name}"
        self.endpoint = f"tcp://{host.address}:{PORT}"
        self.options = ["--insecure"] * plaintext + ["--http", METRICS, "--log-level", "info"]

    def configure(self, primary):
        """Writes the environment file that the unit reads."""
        lines = [f"LOCKSTEP_PRIMARY={primary}"] if self.role == "replica" else []
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

    def is_down(self):
        """Whether it ended by itself, with a status after which the unit does not start it again."""
        unit = self.process()
        return not unit["process"] and unit["ends"][-1:] != [] and unit["ends"][-1]["status"] in (64, 65)


class Laboratory:
    """Hosts `a` (the primary), `b` and further letters (replicas), `x` (joins later), `k` (clients), and the switch.

    With keys there is `m` too, a host inside the network that means harm. With data nodes the first letters are theirs,
    replicas follow, and etcd is on `e`, or on `e1` to `e3`.
    """

    def __init__(self, program, lab_program, replicas=2, plaintext=False, data_nodes=0, members=1, tls=False):
        self.program, self.lab_program, self.replicas, self.plaintext = program, lab_program, replicas, plaintext
        self.access = None  # the text of the access list, as the last command left it
        self.hosts = {}
        letters = [chr(ord("a") + number) for number in range((data_nodes or 1) + replicas)]
        self.data = letters[:data_nodes]  # the hosts of data nodes
        # The hosts of etcd.
        self.keepers = [] if not data_nodes else ["e"] if members == 1 else [f"e{n}" for n in range(1, members + 1)]
        for number, letter in enumerate(letters + ["x", "k"] + ["m"] * (not plaintext) + self.keepers, start=1):
            self.hosts[letter] = Host(letter, number)
        self.etcd = Etcd({letter: self.hosts[letter] for letter in self.keepers}, tls) if data_nodes else None
        self.bare = {"k", "m", *self.keepers}  # hosts that never have a node
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
            if host.name not in self.keepers:
                self.install(host, self.program, OPERATOR)
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
        """Makes and starts the nodes, and etcd before data nodes."""
        if self.etcd:
            self.etcd.configure()
            self.etcd.start()
        for letter in self.hosts:
            if letter not in self.bare and letter != "x":
                self.add(letter, "data" if letter in self.data else "primary" if letter == "a" else "replica")
        if not self.plaintext:
            self.let_in("client", "writer", "k")
            self.let_in("page-1", "reader", "m")
        if self.etcd:
            self.etcd.await_well()
            self.operate("create", "--minimum", str(MINIMUM))
        for node in self.nodes.values():
            node.start()
        if not wait_until(lambda: self.is_whole(self.statuses()), 60, 0.2):
            raise RuntimeError(f"the cluster did not become ready; see the logs below {hosts.folder()}")
        return self

    def operate(self, command, *words, letter="a"):
        """Runs a command of `lockstep cluster` on the host of a data node; what it says."""
        return self.hosts[letter].call(OPERATOR, "cluster", command, "--data", self.nodes[letter].data, *words)

    @property
    def upstream(self):
        """Where clients and replicas find the primary."""
        return ",".join(f"tcp://{self.hosts[letter].address}:{PORT}" for letter in self.data or ["a"])

    def add(self, letter, role="replica", name=None, keys=None):
        """Makes a node on a host, as `lockstep-lab init` does it, and configures it; does not start it."""
        host = self.hosts[letter]
        node = Node(host, role, self.plaintext)
        node.name = name or node.name
        command = [NODES, "init", "--data", node.data, "--node", node.name, "--json"]
        command += [word for store in STORES for word in ("--store", store)]
        if role == "data":
            command += self.etcd.options(host)
        if keys:
            command += ["--keys", keys]
        if self.cluster:
            command += ["--cluster", self.cluster]
        if self.plaintext:
            said = host.call(*command)
        else:
            said = self.edit(host, *command, "--access", ACCESS, "--address", node.endpoint)
        answer = json.loads(said.strip().splitlines()[-1])
        self.cluster = answer["cluster"]
        self.nodes[letter] = node
        node.configure(self.upstream)
        return node

    # MARK: keys

    def edit(self, host, *command):
        """Has a host change the access list by a command of the program, and copies the new one to all; its output."""
        if self.access:
            write(host.path(ACCESS), self.access)
        said = host.call(*command)
        with open(host.path(ACCESS), encoding="utf-8") as file:
            self.access = file.read()
        nodes = host.call(OPERATOR, "keys", "export", "--access", ACCESS)
        for letter, other in self.hosts.items():
            if letter in ("k", "m"):
                write(other.path(NODE_KEYS), nodes[nodes.index("{"):nodes.rindex("}") + 1] + "\n")
            elif letter not in self.bare:
                write(other.path(ACCESS), self.access)
        return said

    def let_in(self, name, role, letter):
        """Makes keys on a host that has no node, and lets their name in."""
        host, path = self.hosts[letter], key_file(name)
        host.call(OPERATOR, "keys", "new", name, "--to", path)
        public = next(line for line in host.call(OPERATOR, "keys", "show", path).splitlines()
                      if line.startswith("lockstep-public "))
        self.edit(self.hosts["a"], OPERATOR, "keys", "allow", name, "--key", public.split()[-1], "--role", role,
                  "--access", ACCESS)

    def revoke(self, name):
        """Takes the name of a node that has left out of the list."""
        if not self.plaintext:
            self.edit(self.hosts["a"], OPERATOR, "keys", "revoke", name, "--access", ACCESS)

    # MARK: a laboratory of another process

    def save(self):
        """Notes what another command has to know."""
        roles = {letter: [node.role, node.name] for letter, node in self.nodes.items()}
        with open(f"{hosts.folder()}/lab.json", "w", encoding="utf-8") as file:
            json.dump({"program": self.program, "lab_program": self.lab_program, "replicas": self.replicas,
                       "plaintext": self.plaintext, "access": self.access, "cluster": self.cluster,
                       "data_nodes": len(self.data), "members": len(self.keepers) or 1,
                       "tls": bool(self.etcd and self.etcd.tls),
                       "nodes": roles}, file)

    @classmethod
    def load(cls):
        """The laboratory that is up."""
        try:
            with open(f"{hosts.folder()}/lab.json", encoding="utf-8") as file:
                saved = json.load(file)
        except FileNotFoundError as error:
            raise CannotRun("no laboratory is up: begin with deploy/lab up") from error
        laboratory = cls(saved["program"], saved["lab_program"], saved["replicas"], plaintext=saved["plaintext"],
                         data_nodes=saved["data_nodes"], members=saved["members"], tls=saved["tls"])
        laboratory.cluster, laboratory.access = saved["cluster"], saved["access"]
        for letter, (role, name) in saved["nodes"].items():
            laboratory.nodes[letter] = Node(laboratory.hosts[letter], role, laboratory.plaintext)
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

    def statuses(self, limit=3):
        """What all nodes say of themselves, asked side by side."""
        letters = list(self.nodes)
        with concurrent.futures.ThreadPoolExecutor(len(letters)) as pool:
            return dict(zip(letters, pool.map(lambda letter: self.status(letter, limit), letters)))

    def posts(self, statuses):
        """The host of each store's primary: of data nodes, whom the newest record names that a node knows."""
        if not self.data:
            return {store["name"]: "a" for store in (statuses["a"] or {"stores": []})["stores"]}
        letters, newest = {node.name: letter for letter, node in self.nodes.items()}, {}
        for store in (store for status in statuses.values() if status for store in status["stores"]):
            known = store.get("dataNode") or {}
            if known.get("record"):
                found = (known["record"], letters.get(known["primary"]))
                newest[store["name"]] = max(newest.get(store["name"], found), found, key=lambda entry: entry[0])
        return {name: letter for name, (_, letter) in newest.items()}

    def primary(self, store):
        """The host of a store's primary, as soon as it is known who that is."""
        found = []

        def is_known():
            found[:] = [self.posts(self.statuses()).get(store)]
            return found[0] is not None

        if not self.data:
            return "a"
        if not wait_until(is_known, 20, 0.1):
            raise RuntimeError(f"nobody knows who is the primary of {store}")
        return found[0]

    def committed(self, statuses):
        """The commit number of each store at its primary; empty unless all primaries serve."""
        found = {}
        for name, letter in self.posts(statuses).items():
            store = next((s for s in (statuses.get(letter) or {"stores": []})["stores"] if s["name"] == name), None)
            if not store or store["phase"] != "admitting":
                return {}
            found[name] = store["commit"]
        return found

    def is_whole(self, statuses):
        """Whether all nodes serve, and each data node is a member of every store."""
        if not all(ready(status) for status in statuses.values()) or not self.committed(statuses):
            return False
        names = {self.nodes[letter].name for letter in self.data}
        posts = self.posts(statuses)
        return not names or all(names <= set(store["dataNode"]["inSync"]) for letter in self.data
                                for store in statuses[letter]["stores"] if posts[store["name"]] == letter)


def key_file(name):
    return f"/etc/lockstep/{name}.key"


def write(path, text):
    """Puts a text in the place of the one before, so that nobody reads half of it."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def ready(status):
    """Whether all stores of a node serve; a data node reigns or follows in each."""
    return bool(status) and all(
        store["phase"] in ("admitting", "live")
        and (store.get("dataNode") or {"phase": "reigning"})["phase"] in ("reigning", "streaming")
        for store in status["stores"])
