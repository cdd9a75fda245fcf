"""One run: a cluster, clients, faults by a seed, and the judgement of what was seen."""
import contextlib
import glob
import json
import os
import random
import shutil
import subprocess
import threading
import time

from namespaces import wait_until

from . import hosts, nemeses
from .cluster import ready
from .prepared import PreparedLaboratory, tail

REST = (2.0, 4.0)  # seconds without a fault after each
RECOVERY_LIMIT = 30  # seconds in which all nodes must serve again
WHOLE_LIMIT = 10  # seconds in which every data node is a member again, if nobody was slow


class Fault:
    """One fault of a run: what was drawn for it, and what it did."""

    def __init__(self, number, name, seconds, rest, seed):
        self.name, self.nemesis, self.seconds, self.rest = f"fault-{number}", name, seconds, rest
        self.random = random.Random(seed)
        self.record = {"number": number, "nemesis": name, "seconds": seconds, "fired": 0}
        self.expects_end = False  # whether a node must end by itself
        self.may_end = False  # whether one may
        self.began = 0.0

    def note(self, **what):
        self.record.update(what)

    def fire(self, count):
        self.record["fired"] += count

    def event(self):
        """Notes that the primary of the store that the record names goes now."""
        self.record.setdefault("events", []).append([time.monotonic(), self.record.get("store")])

    def is_over(self):
        return time.monotonic() >= self.began + self.seconds

    def sleep(self, seconds):
        time.sleep(max(0, min(seconds, self.began + self.seconds - time.monotonic())))


def plan(seed, names, seconds, rest=REST):
    """The faults of a run, one after the other, as the seed draws them.

    Every name has its turn before one comes again.
    """
    generator, faults, length = random.Random(seed), [], 0.0
    turn = []
    while names and length < seconds:
        if not turn:
            turn = list(names)
            generator.shuffle(turn)
        name = turn.pop()
        low, high = nemeses.NEMESES[name].seconds
        fault = Fault(len(faults) + 1, name, round(generator.uniform(low, high), 2),
                      round(generator.uniform(*rest), 2), generator.getrandbits(32))
        faults.append(fault)
        length += fault.seconds + fault.rest
    return faults


class Run:
    """A laboratory with clients in it, from its beginning to its verdict."""

    def __init__(self, options, output, say):
        self.options, self.output, self.say = options, output, say
        self.faults = plan(options.seed, options.nemeses, options.seconds, options.rest)
        self.samples, self.invalid = [], []
        self.lab = PreparedLaboratory(
            options.program, options.lab_program, options.replicas, options.previous, options.plaintext,
            options.data_nodes, options.etcd, options.etcd_tls)
        self.problems = self.lab.problems
        self.clients, self.denials = [], {}
        self.is_over = threading.Event()
        self.started = self.judged = time.monotonic()

    def go(self):
        """Carries the run out; the raw results."""
        options = self.options
        os.makedirs(self.output, exist_ok=True)
        lab = self.lab
        needs = {need for name in options.nemeses for need in nemeses.NEMESES[name].needs}
        lab.output = self.output
        lab.prepare(options, small_disks="small-disk" in needs, faked_clocks="faketime" in needs)
        lab.build(options.seed)
        lab.create()
        lab.save()
        self.started = time.monotonic()
        self.start_clients()
        if not options.plaintext:
            lab.start_hostile()
        threads = [threading.Thread(target=self.sample, args=[letter], daemon=True) for letter in sorted(lab.nodes)]
        for thread in threads:
            thread.start()
        time.sleep(options.calm)
        for fault in self.faults:
            if time.monotonic() - self.started > options.seconds + options.calm:
                break
            self.suffer(fault)
            self.pause(fault.rest)
        if not self.faults:
            self.pause(options.seconds)
        self.pause(options.calm)
        hostile = {} if options.plaintext else self.judge_hostile()
        self.end_clients()
        ended = time.monotonic()
        self.await_equal()
        if lab.data:
            # A data node stores its commit number 1 s after the last entry, which nobody can ask for.
            time.sleep(2)
        self.is_over.set()
        for thread in threads:
            thread.join(10)
        self.stop_nodes()
        return {"faults": [fault.record for fault in self.faults if fault.began], "samples": self.samples,
                "problems": self.problems, "invalid": self.invalid, "judgement": self.judge(),
                "histories": self.histories(), "hostile": hostile, "start": self.started, "end": ended}

    def pause(self, seconds):
        """Waits, and looks whether the clients still work."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(min(0.5, max(0, deadline - time.monotonic())))

    # MARK: clients

    def histories(self):
        return [f"{self.output}/{workload}.jsonl" for workload in self.options.workloads] + self.lab.histories

    def start_clients(self):
        options = self.options
        for workload, history in zip(options.workloads, self.histories()):
            self.clients.append(f"client-{workload}")
            self.lab.start_client(
                self.clients[-1], workload, history, "--seed", str(options.seed), "--workers", str(options.workers),
                "--rate", str(options.rates[workload]), *(["--open"] if options.open else []))

    def end_clients(self):
        host = self.lab.hosts["k"]
        for name in self.clients:
            if not host.ask("signal", name=name, signal="TERM")["hit"]:
                self.problems.append(f"{name} ended by itself: {tail(host, name)}")
        for name in self.clients:
            end = host.ask("wait", name=name, seconds=90)
            if not end["ended"] or end["status"] not in (0, None):
                self.problems.append(f"{name} did not come to its end ({end}): {tail(host, name)}")

    def judge_hostile(self):
        """Ends the hostile host: nothing of it may have been delivered, and the nodes must have counted what came."""
        counts, denied = self.lab.end_hostile(), {}
        for letter, kinds in counts.items():
            for kind, entry in kinds.items():
                if entry.get("delivered"):
                    self.problems.append(f"{letter} took from the hostile host what it should not: {kind}, {entry}")
            denied[letter] = sum(entry["highest"] for entry in self.denials.get(letter, []))
            if not sum(entry.get("tried", 0) for entry in kinds.values()):
                self.invalid.append(f"the hostile host never reached {letter}")
            elif not denied[letter]:
                self.problems.append(f"{letter} has counted nothing of the hostile host as denied")
        return {"tried": counts, "denied": denied}

    def count_denials(self, letter):
        """Notes what a node has refused; a restart begins at 0 again."""
        count, lives = self.lab.denied(letter), self.denials.setdefault(letter, [])
        if count is None:
            return
        if not lives or count < lives[-1]["highest"]:
            lives.append({"highest": 0})
        lives[-1]["highest"] = count

    # MARK: faults

    def suffer(self, fault):
        lab, record = self.lab, fault.record
        fault.began = time.monotonic()
        record["at"] = fault.began - self.started
        self.say(f"{record['at']:6.1f} s  {fault.nemesis} for {fault.seconds} s")
        try:
            # Closed at once, so that a fault which could not be carried out does not stay half done.
            with contextlib.closing(nemeses.NEMESES[fault.nemesis].make(lab, fault)) as steps:
                next(steps)
                while not fault.is_over():
                    fault.sleep(0.5)
                for _ in steps:
                    pass
        except Exception as error:  # The laboratory's own trouble: the run says nothing.
            self.invalid.append(f"{fault.nemesis} could not be carried out: {type(error).__name__}: {error}")
            record["error"] = str(error)
        healed = time.monotonic()
        record["healed"] = healed - self.started
        record["events"] = [[at - self.started, store] for at, store in record.get("events", [])]
        lab.start_all()
        recovered = self.await_recovery(healed)
        record["recovered"] = recovered
        if recovered is None:
            states = {letter: brief(status) for letter, status in lab.statuses().items()}
            self.problems.append(
                f"{RECOVERY_LIMIT} s after fault {record['number']} ({fault.nemesis}) not all nodes serve: {states}")
        elif lab.data:
            # Who was taken out for slowness comes back late, which is no fault.
            whole = wait_until(lambda: lab.is_whole(lab.statuses()), WHOLE_LIMIT, 0.05)
            record["whole"] = round(time.monotonic() - healed, 3) if whole else None
        self.judge_ends(fault)

    def await_recovery(self, healed):
        """How long it takes until all nodes serve, and have what the primaries had committed when they served again."""
        lab, wanted = self.lab, {}
        while time.monotonic() < healed + RECOVERY_LIMIT:
            statuses = lab.statuses()
            wanted = wanted or lab.committed(statuses)
            if wanted and lab.committed(statuses) and all(
                    ready(status) and all(store["commit"] >= wanted[store["name"]] for store in status["stores"])
                    for status in statuses.values()):
                return round(time.monotonic() - healed, 3)
            time.sleep(0.05)
        return None

    def judge_ends(self, fault):
        """Judges the ends of nodes since the fault before; where a fault is to make a node stop, it must."""
        def ended():
            return any(end["status"] > 0 for ends in self.lab.endings(fault.began).values() for end in ends)
        if fault.expects_end and fault.record["fired"] and not wait_until(ended, 5, 0.2):
            self.problems.append(f"no node ended though {fault.nemesis} fired (fault {fault.record['number']})")
        now = time.monotonic()
        self.lab.judge_ends(self.judged, fault.nemesis, may_end=fault.expects_end or fault.may_end)
        self.judged = now

    # MARK: looking

    def sample(self, letter):
        """Notes once a second how a node is."""
        lab, host = self.lab, self.lab.hosts[letter]
        while not self.is_over.wait(1):
            node = lab.nodes.get(letter)
            if not node:
                continue
            if not self.options.plaintext:
                self.count_denials(letter)
            sample = {"at": round(time.monotonic() - self.started, 2), "node": letter}
            status = lab.status(letter, 1.5)
            if status:
                sample["phases"] = sorted({store["phase"] for store in status["stores"]})
                sample["commit"] = sum(store["commit"] for store in status["stores"])
                lags = [store["lag"] for store in status["stores"]]
                if None not in lags:  # A replica without a primary does not know.
                    sample["lag"] = sum(lags)
                sample["alarms"] = [alarm for store in status["stores"] for alarm in store["alarms"]]
                posts = {store["name"]: store["dataNode"] for store in status["stores"] if store.get("dataNode")}
                if posts:
                    sample["epochs"] = {name: post["epoch"] for name, post in posts.items()}
                    sample["reigns"] = sorted(name for name, post in posts.items() if post["role"] == "primary")
                sample["digests"] = {store["name"]: store["mark"] for store in status["stores"] if store.get("mark")}
            try:
                parts = (node.process() or {}).get("parts")
                sample.update(parts or {})
                sample["wal"] = sum(os.path.getsize(f"{host.path(node.data)}/{name}")
                                    for name in os.listdir(host.path(node.data)) if name.endswith("-wal"))
            except (OSError, RuntimeError):
                pass  # The host is down.
            self.samples.append(sample)

    def await_equal(self):
        """All nodes come to one place with one digest, when nobody writes."""
        def equal():
            answers = list(self.lab.statuses().values())
            if not all(ready(answer) for answer in answers):
                return False
            places = [[(store["name"], store["sequence"], store.get("digest")) for store in answer["stores"]]
                      for answer in answers]
            # A node that has not taken its digest yet is asked again.
            return all(place == places[0] and all(digest for *_, digest in place) for place in places)
        if not wait_until(equal, RECOVERY_LIMIT, 0.2):
            states = {letter: brief(status) for letter, status in self.lab.statuses().items()}
            self.problems.append(f"the nodes are not equal {RECOVERY_LIMIT} s after the last write: {states}")

    def stop_nodes(self):
        for letter in sorted(self.lab.nodes, reverse=True):
            if not self.lab.nodes[letter].stop():
                self.problems.append(f"the node on {letter} did not stop when it was told to")
        self.lab.judge_ends(self.judged, "the end of the run")
        for letter in self.lab.nodes:
            self.lab.judge_log(letter)

    def judge(self):
        """Has the program judge histories and journals."""
        folders = []
        for letter in sorted(self.lab.nodes):
            node = self.lab.nodes[letter]
            folders.append(f"{self.output}/nodes/{letter}")
            shutil.copytree(node.host.path(node.data), folders[-1], ignore=shutil.ignore_patterns("admin", "*.key*"))
            shutil.copy(f"{node.host.folder}/{node.unit}.log", f"{self.output}/node-{letter}.log")
        command = [self.options.lab_program, "chaos", "check", "--json"]
        for history in self.histories():
            command += ["--history", history]
        for folder in folders:
            command += ["--data", folder]
        asked = subprocess.run(command, capture_output=True, text=True)
        try:
            return json.loads(asked.stdout)
        except ValueError:
            self.problems.append(f"the judge ended with {asked.returncode}: {asked.stderr.strip()[-1000:]}")
            return {"checks": []}

    def keep_logs(self):
        """Copies the logs of all hosts: what is left of a run that came to no report."""
        for path in glob.glob(f"{hosts.folder()}/*/*.log") + glob.glob(f"{hosts.folder()}/*.log"):
            shutil.copy(path, f"{self.output}/" + os.path.relpath(path, hosts.folder()).replace("/", "-"))

    def forget(self):
        """Removes what only somebody who looks for a fault would read."""
        shutil.rmtree(f"{self.output}/nodes", ignore_errors=True)
        for path in self.histories():
            os.unlink(path)


def brief(status):
    """The part of a status that says where a node stands."""
    if not status:
        return "no answer"
    return [f"{store['name']} {store['phase']} {store['epoch']}:{store['commit']} {store['alarms']}" + post(store)
            for store in status["stores"]]


def post(store):
    """What a data node is for a store, as a part of a line."""
    known = store.get("dataNode")
    return known and f" {known['role']} {known['phase']} record {known['record']} of {known['inSync']}" or ""
