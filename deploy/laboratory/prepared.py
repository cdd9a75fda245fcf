"""A laboratory that is ready for faults: small disks, clocks that can be set, texts to search in, another program."""
import json
import os
import re
import shutil
import subprocess
import sys

from namespaces import wait_until

from . import machine
from .cluster import METRICS, MINIMUM, NODE_KEYS, NODES, PORT, STORES, Laboratory, key_file, ready

WORDS = 400  # as many as the workload `searches` knows
UNITS = ("lockstep-primary", "lockstep-replica", "lockstep-data")
ON_COUNTERS = {"increments", "stream", "mixed"}  # workloads that write that store; `mixed` writes the other one, too
SHELL = ["sh", "-c", 'exec "$@"', "sh"]
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Tests/IntegrationTests/hostile_keys.py")
DENIED = re.compile(r"lockstep_(denials|handshakes_failed)_total[ {]")
BAD_ENDS = re.compile(r"Assertion failed|Fatal error|Precondition failed|Swift runtime failure|SUMMARY: .*Sanitizer")


class PreparedLaboratory(Laboratory):
    """A laboratory with what nemeses need beside the hosts."""

    def __init__(self, program, lab_program, replicas, previous=None, plaintext=False, data_nodes=0, members=1,
                 tls=False):
        super().__init__(program, lab_program, replicas, plaintext, data_nodes, members, tls)
        self.previous = previous or lab_program
        self.written = ["counters"]  # the stores that the clients write
        self.throttled, self.joined, self.capacity, self.clients = {}, 0, None, 0
        self.clocks, self.searches, self.options, self.variables = False, False, [], {}
        self.output, self.histories, self.problems = "", [], []

    def prepare(self, options, small_disks, faked_clocks):
        """Makes what hosts find when they boot, and notes what nodes are told."""
        self.clocks, self.options, self.capacity = faked_clocks, list(options.node_options), options.capacity
        self.searches = "searches" in options.workloads
        asked = set(options.workloads)
        self.written = (["counters"] * bool(asked & ON_COUNTERS) + ["search"] * self.searches
                        + ["workbench"] * bool(asked - (ON_COUNTERS - {"mixed"}) - {"searches"}))
        if options.defect:
            self.variables["LOCKSTEP_DEFECT"] = options.defect
        for letter, host in self.hosts.items():
            os.makedirs(host.folder, exist_ok=True)
            if small_disks and letter not in self.bare:
                subprocess.check_call(["truncate", "-s", "512M", f"{host.folder}/disk.img"])
                subprocess.check_call(["mkfs.ext4", "-q", "-F", f"{host.folder}/disk.img"])

    def add(self, letter, role="replica", name=None, keys=None):
        node = super().add(letter, role, name, keys)
        node.options = node.options + self.options
        if self.searches and role != "replica":
            if not os.path.exists(self.hosts[letter].path("/etc/lockstep/search.index")):
                self.make_index(self.hosts[letter])
            node.options += ["--search-index", "/etc/lockstep/search.index", "--search-fresh", "5"]
        node.configure(self.upstream)
        return node

    def create(self):
        for letter, host in self.hosts.items():
            if letter not in self.bare:
                self.tell(host)
        return super().create()

    def make_index(self, host):
        """Texts of one word of their own each, and the index of them."""
        folder = host.path("/etc/lockstep/texts")
        os.makedirs(folder)
        for number in range(WORDS):
            with open(f"{folder}/text{number}.txt", "w", encoding="ascii") as file:
                file.write(f"This text has word{number} in it.\n")
        host.call("/usr/local/bin/lockstep", "search", "index", "/etc/lockstep/texts", "--index",
                  "/etc/lockstep/search.index")

    def tell(self, host):
        """Gives the nodes of a host their variables, and a clock that asks a file for its offset and rate."""
        # A trap's backtrace of all threads takes a minute on a busy machine, and the node is away for so long.
        variables, through = {"SWIFT_BACKTRACE": "threads=crashed,registers=none,images=none", **self.variables}, []
        if self.clocks:
            self.write_clock(host)
            variables.update({
                "LD_PRELOAD": machine.faketime(), "FAKETIME_TIMESTAMP_FILE": "/etc/lockstep/clock",
                "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"})
            # The library sets a variable as it is loaded, which moves the environment, and Swift's runtime then does
            # no longer find the program's arguments. Through a shell the variable is there already.
            through = SHELL
        for unit in UNITS:
            host.ask("environment", name=unit, variables=variables, through=through)

    def reboot(self, host):
        """Starts a host again that has died."""
        host.boot()
        self.tell(host)

    def set_clock(self, node, offset=0, rate="1"):
        """Has the wall clock of a node's host jump, or run at another rate; without either it is right again."""
        self.write_clock(node.host, offset, rate)

    @staticmethod
    def write_clock(host, offset=0, rate="1"):
        path = host.path("/etc/lockstep/clock")
        with open(path + ".new", "w", encoding="ascii") as file:
            # The library goes on with its last rate where none is named.
            file.write(f"{offset:+d}s x{rate}\n")
        os.replace(path + ".new", path)

    def busy(self):
        """How often the primaries have refused actions because they had too many."""
        statuses = self.statuses()
        found = [store for letter in set(self.posts(statuses).values())
                 for store in (statuses.get(letter) or {"stores": []})["stores"]]
        return sum(store["counters"].get("busy", 0) for store in found)

    # MARK: data nodes

    def epoch(self, store):
        """The epoch of the newest record of a store that a node knows."""
        known = [entry["dataNode"] for status in self.statuses(1).values() if status for entry in status["stores"]
                 if entry["name"] == store and entry.get("dataNode")]
        return max((entry["epoch"] or 0 for entry in known), default=0)

    def is_back(self, letter):
        """Whether a node serves, and is a member of all stores if it is a data node."""
        if letter not in self.data:
            return self.is_ready(letter)
        return self.is_whole(self.statuses())

    def renew(self, node):
        """Makes the folder of a data node anew, under its name: it has lost what it had."""
        # Its keys are kept elsewhere, as an operator keeps them who wants to give the node its name back.
        keys = f"/var/lib/lockstep/{node.name}.key"
        if os.path.exists(node.host.path(f"{node.data}/node.key")):
            shutil.move(node.host.path(f"{node.data}/node.key"), node.host.path(keys))
        shutil.rmtree(node.host.path(node.data))
        return self.add(node.host.name, "data", node.name, None if self.plaintext else keys)

    def await_removal(self, node):
        """Waits until no primary has a data node as a member."""
        def is_out():
            posts = [store["dataNode"] for status in self.statuses(1).values() if status for store in status["stores"]
                     if (store.get("dataNode") or {"role": None})["role"] == "primary"]
            return len(posts) >= len(STORES) and not any(node.name in post["inSync"] for post in posts)
        if self.data and not wait_until(is_out, 10, 0.1):
            raise RuntimeError(f"{node.name} does not run, and is still a member after 10 s")

    def rebind(self):
        """Has an operator say that etcd holds: the page's command on one host after the other, until nothing is left.

        The operator does what the command asks for.
        """
        said, more = {}, []

        def is_bound():
            for letter in self.data:
                try:
                    return self.operate("rebind", "--yes", *more, letter=letter) is not None
                except RuntimeError as error:
                    said[letter] = str(error)[-600:]
                    if "say it with --minimum N" in said[letter] and "--minimum" not in more:
                        more.extend(["--minimum", str(MINIMUM)])
                    # Whoever runs without the disk that a member had was wiped, which the operator knows.
                    gone = re.findall(r"--without (\S+)", said[letter]) if "disk that it had" in said[letter] else []
                    running = [self.nodes[letter].name for letter, status in self.statuses(1).items() if status]
                    for name in gone:
                        if name in running and name not in more:
                            more.extend(["--without", name])
                    leaders = re.findall(r"(\S+) leads [^:]*: restart that node", said[letter])
                    for node in self.nodes.values():
                        if node.name in leaders:
                            node.kill()
            return False

        if not wait_until(is_bound, 40, 0.5):
            self.problems.append(f"the stores cannot be bound to etcd again: {said}")

    # MARK: clients

    def start_client(self, name, workload, history, *more):
        """Starts a client process on the host `k`; it works until it is told to stop."""
        command = [NODES, "chaos", "client", "--node", self.upstream, "--workload", workload, "--history", history,
                   "--seconds", "86400", *more]
        for letter in sorted(set(self.nodes) - {"a"} | set(self.data)):
            command += ["--replica", self.nodes[letter].endpoint]
        if not self.plaintext:
            command += ["--keys", key_file("client"), "--nodes", NODE_KEYS]
        self.hosts["k"].ask("run", name=name, command=command, environment=self.variables)
        if not wait_until(lambda: os.path.exists(history), 30):
            with open(f"{self.hosts['k'].folder}/{name}.log", encoding="utf-8", errors="replace") as file:
                raise RuntimeError(f"{name} did not start: {file.read()[-300:]}")

    # MARK: the hostile host

    def start_hostile(self):
        """Starts what attacks the primary and a replica until the run ends."""
        for letter in ("a", "b"):
            self.hosts["m"].ask("run", name=f"hostile-{letter}", command=[
                "nice", sys.executable, HOSTILE, "series", "--nodes", NODE_KEYS, "--keys", key_file("page-1"), "--host",
                self.hosts[letter].address, "--port", str(PORT), "--seconds", "86400", "--rate", "60", "--report",
                f"{self.hosts['m'].folder}/hostile-{letter}.json"])

    def end_hostile(self):
        """Ends it; what it counted."""
        counts = {}
        for letter in ("a", "b"):
            name = f"hostile-{letter}"
            if not self.hosts["m"].ask("signal", name=name, signal="KILL")["hit"]:
                self.problems.append(f"{name} ended by itself: {tail(self.hosts['m'], name)}")
            try:
                with open(f"{self.hosts['m'].folder}/{name}.json", encoding="utf-8") as file:
                    counts[letter] = json.load(file)
            except FileNotFoundError:
                self.problems.append(f"{name} has counted nothing: {tail(self.hosts['m'], name)}")
        return counts

    def denied(self, letter):
        """What a node has refused since it started, by its metrics; None if it does not answer."""
        asked = subprocess.run(
            ["ip", "netns", "exec", self.hosts[letter].namespace, "curl", "-s", "-m", "1", f"http://{METRICS}/metrics"],
            capture_output=True, text=True)
        lines = [line for line in asked.stdout.splitlines() if DENIED.match(line)]
        return round(sum(float(line.split()[-1]) for line in lines)) if lines else None

    def is_ready(self, letter):
        return ready(self.status(letter))

    def unit(self, letter):
        return self.nodes[letter].unit

    def endings(self, since):
        """The ends of each node's processes from a moment of the monotonic clock on."""
        found = {}
        for letter, node in self.nodes.items():
            try:
                found[letter] = [end for end in node.process()["ends"] if end["at"] >= since]
            except (OSError, RuntimeError, TypeError):
                found[letter] = []
        return found

    def judge_ends(self, since, during, letters=None, may_end=False):
        """A node may end by SIGKILL, or when it is told to; any other end is a finding, unless a fault makes it stop."""
        for letter, ends in self.endings(since).items():
            for end in ends:
                if letter not in (letters or self.nodes) or end["status"] in (-9, 0) or (may_end and end["status"] > 0):
                    continue
                text = tail(self.hosts[letter], self.unit(letter))
                self.problems.append(f"a node on {letter} ended with {end['status']} in {during}: {text}")

    def judge_log(self, letter):
        """A node's log shows no trap, whoever ended the process."""
        with open(f"{self.hosts[letter].folder}/{self.unit(letter)}.log", encoding="utf-8", errors="replace") as file:
            found = [line.strip() for line in file if BAD_ENDS.search(line)]
        if found:
            self.problems.append(f"the log of {letter} has {len(found)} times: {found[0][:300]}")

    def start_all(self):
        """Starts what a fault may have left down; the units restart the rest."""
        if self.etcd:
            self.etcd.start()
        for node in self.nodes.values():
            node.start()


def tail(host, name):
    """The end of the log of a process on a host."""
    with open(f"{host.folder}/{name}.log", encoding="utf-8", errors="replace") as file:
        return file.read()[-400:]
