"""Records what a journal's writer does to its files, and lets its calls fail; `lockstep-lab chaos storage` judges."""
import concurrent.futures
import contextlib
import errno
import json
import os
import random
import shutil
import subprocess
import time

from namespaces import CannotRun

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = "openat,write,pwrite64,ftruncate,fsync,fdatasync,unlink,rename"
STRACE = ["strace", "-f", "-xx", "-y", "-s", "2000000", "--seccomp-bpf", "-e", f"trace={CALLS}", "-e", "signal=none"]
WORKERS = 2
LIMIT = 1_800  # seconds for a program that takes a few, and may wait for a processor; one that hangs is a finding
# Defects of what only a data node's journal does: they are tried with its script.
ARBITRATED = ("commitNumberLost", "tailShown", "committedIsCut", "cutKeepsGeneration", "cutNotSynced", "promiseNotKept")
ATTEMPTS = 8  # recordings in which a planted defect may show: where a writer is killed is not up to the seed alone
# What each kind of call can fail with; "+" lets all after it fail, too.
FAILURES = [(kind, "EIO") for kind in ("open", "write", "read", "truncate", "sync", "folder-sync", "unlink", "rename")]
FAILURES += [("write", "ENOSPC"), ("truncate", "ENOSPC"), ("write", "short"), ("sync", "EIO+"), ("write", "EIO+"),
             ("write", "ENOSPC+"), ("open", "EMFILE"), ("sync", "kill"), ("write", "kill")]


def compiler():
    """A compiler of C; Swift brings one along."""
    return shutil.which("cc") or shutil.which("clang")


def check_machine():
    if not shutil.which("strace"):
        raise CannotRun("strace is missing: run deploy/setup --lab")
    if not compiler():
        raise CannotRun("a C compiler is missing: neither cc nor clang is on PATH")
    if not os.access("/dev/shm", os.W_OK):
        raise CannotRun("/dev/shm cannot be written: images are built in memory")


class Bench:
    """A program that is tested, and a folder in memory to do it in."""

    def __init__(self, program, scratch, output):
        self.program, self.scratch, self.output = program, scratch, output
        self.library = os.path.join(scratch, "failing_call.so")
        made = subprocess.run(
            [compiler(), "-shared", "-fPIC", "-O1", "-o", self.library, os.path.join(HERE, "failing_call.c"), "-ldl"],
            capture_output=True, text=True)
        if made.returncode != 0:
            raise RuntimeError(f"failing_call.c cannot be compiled: {made.stderr.strip()}")

    def storage(self, *words, defect=None, program=None):
        """Runs a command of `lockstep-lab chaos storage`; its status and what it prints."""
        environment = dict(os.environ, LOCKSTEP_DEFECT=defect or "")
        run = subprocess.run(
            [program or self.program, "chaos", "storage"] + [str(word) for word in words], capture_output=True,
            text=True, env=environment, timeout=2 * LIMIT)
        return run

    @contextlib.contextmanager
    def recording(self, seed, steps, defect=None, program=None, lives=4, arbitrated=False):
        made = Recording(self, seed, steps, defect, program, arbitrated)
        try:
            made.record(lives)
            yield made
        finally:
            shutil.rmtree(made.path, ignore_errors=True)


class Recording:
    """The traces of writers of one folder: all but the last are killed in the middle of a call."""

    def __init__(self, bench, seed, steps, defect, program, arbitrated):
        self.bench, self.seed, self.steps, self.defect = bench, seed, steps, defect
        self.script = script_words(seed, steps, arbitrated)
        self.program = program or bench.program
        self.path = os.path.join(bench.scratch, f"recording-{seed}")
        self.refusal = None
        self.folder, self.notes = os.path.join(self.path, "node"), os.path.join(self.path, "notes")

    def record(self, lives):
        os.makedirs(self.path)
        draw = random.Random(self.seed)
        for life in range(1, lives + 1):
            # First in a commit: what it wrote and did not sync is there, for the next process to recover.
            kind, least, most = (("sync", 20, 250), ("commit", 3, self.steps // 6), ("write", 80, 1_000))[life % 3]
            number = draw.randint(least, most)
            fail = f"{kind}:{number}:kill" if life < lives else ""
            variables = {"LD_PRELOAD": self.bench.library, "LOCKSTEP_CALLS_FOLDER": self.folder,
                         "LOCKSTEP_CALLS_FAIL": fail, "LOCKSTEP_DEFECT": self.defect or ""}
            set_all = [word for name, value in variables.items() for word in ("-E", f"{name}={value}")]
            run = subprocess.run(
                STRACE + ["-o", f"{self.path}/{life}.trace"] + set_all
                + [self.program, "chaos", "storage", "write"] + self.script
                + ["--folder", self.folder, "--notes", self.notes], capture_output=True, text=True, timeout=LIMIT)
            shutil.copytree(self.folder, f"{self.path}/{life}.files")
            shutil.copy(self.notes, f"{self.path}/{life}.notes")
            if run.returncode == 0:
                return
            if run.returncode not in (-9, 137):
                # A journal must open after a kill: what it says instead is a violation.
                self.refusal = f"process {life} of seed {self.seed} ended with {run.returncode}: {run.stderr.strip()}"
                return

    def judged(self, *words):
        run = self.bench.storage(
            *words, *self.script, "--folder", self.folder, "--notes", self.notes, "--recording", self.path,
            "--scratch", self.bench.scratch, defect=self.defect, program=self.program)
        if not run.stdout.startswith("{"):
            raise AssertionError(f"the judge of seed {self.seed} ended with {run.returncode} at {self.image()}: "
                                 f"{run.stderr.strip()[-2000:]}")
        return json.loads(run.stdout)

    def image(self):
        """The images that were being judged when a judge trapped."""
        names = [name for name in os.listdir(self.bench.scratch) if name.endswith(".name")]
        return "; ".join(open(os.path.join(self.bench.scratch, name), encoding="utf-8").read() for name in names)

    def images(self, count, lie=None):
        if lie or self.defect:
            # It need only be found.
            options = ["--until-first"] + (["--lie", lie] if lie else [])
        else:
            options = ["--keep", os.path.join(self.bench.output, f"images-{self.seed}")]
        found = self.judged("images", "--count", count, *options)
        if self.refusal:
            found["violations"].insert(0, self.refusal)
            found["violationCount"] += 1
        return found

    def damage(self, count, copies):
        return self.judged("damage", "--count", count, "--copies", copies)


def script_words(seed, steps, arbitrated):
    """The options that name a script."""
    return ["--seed", str(seed), "--steps", str(steps)] + (["--arbitrated"] if arbitrated else [])


def run_failing(bench, script, name, fail, defect=None, program=None):
    """One run of a writer with a call that fails: how it ended, None if it hangs, and the folder that it left."""
    place = os.path.join(bench.scratch, name)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    folder = os.path.join(place, "node")
    environment = dict(
        os.environ, LD_PRELOAD=bench.library, LOCKSTEP_CALLS_FOLDER=folder, LOCKSTEP_CALLS_FAIL=fail,
        LOCKSTEP_CALLS_COUNTS=os.path.join(place, "counts"), LOCKSTEP_DEFECT=defect or "")
    try:
        run = subprocess.run(
            [program or bench.program, "chaos", "storage", "write"] + script
            + ["--folder", folder, "--notes", folder + ".notes"], capture_output=True, text=True, env=environment,
            timeout=LIMIT)
    except subprocess.TimeoutExpired:
        run = None
    return run, place, folder


def failing_calls(bench, seed, limit=None, failures=FAILURES, defect=None, program=None, steps=40, arbitrated=False):
    """Lets the n-th call of each kind fail, for each n, or for so many of them."""
    began = time.monotonic()
    script = script_words(seed, steps, arbitrated)
    run, place, _ = run_failing(bench, script, "counting", "", defect, program)
    if not run or run.returncode != 0:
        raise RuntimeError(f"a writer of which no call fails did not come to its end: {run and run.stderr.strip()}")
    with open(os.path.join(place, "counts"), encoding="utf-8") as file:
        counts = {name: int(count) for name, count in (line.split() for line in file)}
    found = {"runs": 0, "kinds": {}, "violations": [], "seconds": 0}
    for kind, failure in failures:
        if not counts.get(kind):
            raise RuntimeError(f"the writer makes no call of the kind {kind}, or failing_call.c does not see it")
        stride = max(1, -(-counts[kind] // limit)) if limit else 1
        first = 1 + random.Random(f"{seed}{kind}{failure}").randrange(stride)
        numbers = range(first, counts[kind] + 1, stride)
        one = found["kinds"][f"{kind} {failure}"] = {"calls": counts[kind], "stride": stride, "ends": {}}

        def attempt(number):
            name = f"{kind}-{failure}-{number}"
            ever, word = ("+", failure[:-1]) if failure.endswith("+") else ("", failure)
            fail = f"{kind}:{number}{ever}:{getattr(errno, word, word)}"
            run, place, folder = run_failing(bench, script, name, fail, defect, program)
            try:
                return judge(bench, script, failure, run, folder, defect, program)
            finally:
                shutil.rmtree(place, ignore_errors=True)

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for number, (end, wrong) in zip(numbers, pool.map(attempt, numbers)):
                found["runs"] += 1
                one["ends"][end] = one["ends"].get(end, 0) + 1
                if wrong:
                    found["violations"].append(f"{kind} {number} fails with {failure}: {wrong}")
    found["seconds"] = round(time.monotonic() - began, 1)
    return found


def judge(bench, script, failure, run, folder, defect, program):
    """How a writer ended, and what is wrong with that or with what it left; None if nothing is."""
    if run is None:
        return "hung", f"it had not ended after {LIMIT} s"
    if failure == "kill" and run.returncode == -9:
        end = "killed"
    elif run.returncode == 0:
        end = "went on"
    elif run.returncode in (1, 65) and run.stderr.startswith("lockstep-lab: "):
        end = "ended with an error"
    else:
        return "trapped", f"it ended with {run.returncode}: {run.stderr.strip()[-500:]}"
    if not os.path.exists(folder + ".notes"):
        return end, None
    os.makedirs(folder, exist_ok=True)
    judged = bench.storage("judge", *script, folder, defect=defect, program=program)
    wrong = None if judged.returncode == 0 else (judged.stdout or judged.stderr).strip()[-500:]
    return end, wrong and f"{wrong} (the writer: {run.stderr.strip()[-300:] or end})"


def controls(bench, defective, seed):
    """Defects of the journal and lies to the judge, each of which must be found; what was found first."""
    listed = bench.storage("defects", program=defective)
    if listed.returncode != 0:
        raise RuntimeError(f"{defective}: {listed.stderr.strip()}")
    made = []

    def note(name, violations):
        made.append({"name": name, "found": bool(violations), "first": violations[0][:200] if violations else ""})

    for arbitrated, name in ((False, ""), (True, " of a data node")):
        with bench.recording(seed, 120, arbitrated=arbitrated) as recording:
            for lie in ("acknowledgement", "record"):
                note(f"the judge is told a lie{name}: {lie}", recording.images(600, lie)["violations"])
    for defect in listed.stdout.split():
        if defect == "failureForgotten":
            found = failing_calls(bench, seed, 20, [("sync", "EIO"), ("write", "EIO")], defect, defective)["violations"]
        else:
            tries = (tried(bench, defect, defective, seed + attempt) for attempt in range(ATTEMPTS))
            found = next((violations for violations in tries if violations), [])
        note(defect, found)
    return made


def tried(bench, defect, defective, seed):
    """What one recording of a writer with a planted defect shows."""
    arbitrated = defect in ARBITRATED
    with bench.recording(seed, 120, defect, defective, arbitrated=arbitrated) as recording:
        found = recording.images(1_500)["violations"]
        if found or arbitrated:
            return found
        trials = recording.damage(300, 60)
        return trials["damage"]["violations"] + trials["copies"]["violations"]
