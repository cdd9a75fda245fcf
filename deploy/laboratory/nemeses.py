"""What can happen to the cluster, by name.

A nemesis is a function that begins a fault and yields; it is resumed when the fault is to end. It notes in `fault` what
it did, so that a report can tell a fault that fired from one that hit nothing. All choices come from the fault's own
generator, which the run's seed determines.
"""
import glob
import os
import shutil
import time

from . import hosts
from .hosts import wait_until

NEMESES = {}


class Nemesis:
    """How a fault is made, how long it takes, and what the cluster needs for it."""

    def __init__(self, make, summary, seconds, needs=()):
        self.make, self.summary, self.seconds, self.needs = make, summary, seconds, needs
        self.name = make.__name__.replace("_", "-")


def nemesis(summary, seconds=(2, 6), needs=()):
    """Enters a function under its name."""
    def enter(make):
        entry = Nemesis(make, summary, seconds, needs)
        NEMESES[entry.name] = entry
        return make
    return enter


def any_node(lab, fault):
    """The primary in half of the cases, else a replica."""
    replicas = sorted(letter for letter in lab.nodes if letter not in ("a", "x"))
    letter = "a" if fault.random.random() < 0.5 else fault.random.choice(replicas)
    fault.note(target=letter)
    return lab.nodes[letter]


def a_replica(lab, fault):
    """One of the replicas."""
    letter = fault.random.choice(sorted(letter for letter in lab.nodes if letter not in ("a", "x")))
    fault.note(target=letter)
    return lab.nodes[letter]


# MARK: processes

@nemesis("SIGKILL to a node, which its unit starts again at once, or only at the end of the fault")
def kill(lab, fault):
    node, hold = any_node(lab, fault), fault.random.random() < 0.5
    fault.note(held=hold, fired=int(node.kill(hold)))
    yield
    if hold:
        node.start()


@nemesis("SIGKILL to the primary, again and again", seconds=(3, 6))
def kill_primary(lab, fault):
    fault.note(target="a")
    while not fault.is_over():
        fault.fire(int(lab.nodes["a"].kill()))
        fault.sleep(0.4 + 1.2 * fault.random.random())
    yield


@nemesis("SIGKILL to all nodes at once")
def kill_all(lab, fault):
    for node in lab.nodes.values():
        fault.fire(int(node.kill(hold=True)))
    yield
    for node in lab.nodes.values():
        node.start()


@nemesis("SIGSTOP to a node beyond every timeout of its peers, then SIGCONT", seconds=(3, 8))
def pause(lab, fault):
    node = any_node(lab, fault)
    fault.fire(int(node.signal("STOP")))
    yield
    node.signal("CONT")


@nemesis("the power of a host goes, with all its processes; it starts again with its disk", seconds=(1, 4))
def host_death(lab, fault):
    node = any_node(lab, fault)
    node.host.die()
    fault.fire(1)
    yield
    lab.reboot(node.host)
    node.start()


# MARK: network

def rule(lab, fault, pairs, **what):
    """Sets a rule of the switch for the time of the fault, and counts what it did."""
    fault.note(pairs=[f"{source}>{to}" for source, to in pairs], **what)
    lab.switch.ask("set", name=fault.name, pairs=pairs, **what)
    yield
    counts = lab.switch.ask("clear", name=fault.name)["rules"].get(fault.name, {})
    fault.note(frames=counts)
    fault.fire(sum(counts.values()))


def both(groups):
    """The ordered pairs between two groups of hosts."""
    left, right = groups
    return [pair for a in left for b in right for pair in ((a, b), (b, a))]


def others(lab, letters):
    return [letter for letter in lab.hosts if letter not in letters]


@nemesis("one host is cut off from all others")
def cut(lab, fault):
    letter = fault.random.choice(["a"] * 2 + sorted(set(lab.nodes) - {"a", "x"}))
    yield from rule(lab, fault, both(([letter], others(lab, [letter]))), cut=True)


@nemesis("the hosts fall into two halves; the clients are with either")
def cut_halves(lab, fault):
    letters = sorted(lab.hosts)
    fault.random.shuffle(letters)
    half = letters[:len(letters) // 2]
    yield from rule(lab, fault, both((half, others(lab, half))), cut=True)


@nemesis("the frames of one direction between two hosts are lost")
def cut_direction(lab, fault):
    other = fault.random.choice(sorted(set(lab.nodes) - {"a", "x"}) + ["k"])
    pair = ["a", other] if fault.random.random() < 0.5 else [other, "a"]
    yield from rule(lab, fault, [pair], cut=True)


@nemesis("one port of the primary cannot be reached: ingress, broadcast or bulk")
def cut_port(lab, fault):
    port = fault.random.choice([7400, 7401, 7402])
    yield from rule(lab, fault, both((["a"], others(lab, ["a"]))), cut=True, ports=[port])


def everywhere(lab):
    return [(source, to) for source in lab.hosts for to in lab.hosts if source != to]


@nemesis("5 to 30 % of all frames are lost")
def loss(lab, fault):
    yield from rule(lab, fault, everywhere(lab), loss=round(fault.random.uniform(0.05, 0.3), 2))


@nemesis("10 to 50 % of all frames come twice")
def duplication(lab, fault):
    yield from rule(lab, fault, everywhere(lab), duplicate=round(fault.random.uniform(0.1, 0.5), 2))


@nemesis("frames are late by up to 400 ms, each by another time, so that they overtake each other")
def delay(lab, fault):
    yield from rule(lab, fault, everywhere(lab), delay=round(fault.random.uniform(0, 0.1), 3),
                    jitter=round(fault.random.uniform(0.01, 0.3), 3))


@nemesis("bits of 1 to 10 % of the frames flip; the checksums of TCP find it")
def corruption(lab, fault):
    yield from rule(lab, fault, everywhere(lab), corrupt=round(fault.random.uniform(0.01, 0.1), 3))


@nemesis("a bit of 0.2 to 2 % of the payloads flips under a right checksum, so that only the programs can find it")
def forgery(lab, fault):
    nodes = [letter for letter in lab.hosts if letter != "x"]
    pairs = [(source, to) for source in nodes for to in nodes if source != to]
    yield from rule(lab, fault, pairs, forge=round(fault.random.uniform(0.002, 0.02), 4))


@nemesis("the frames of a host are kept back and then come all at once", seconds=(3, 8))
def hold(lab, fault):
    node = any_node(lab, fault)
    letter = node.host.name
    pairs = both(([letter], others(lab, [letter])))
    yield from rule(lab, fault, pairs if fault.random.random() < 0.5 else [p for p in pairs if p[0] == letter],
                    hold=True)


@nemesis("the link to a replica carries 64 kbit/s", seconds=(4, 8))
def slow_link(lab, fault):
    yield from rule(lab, fault, [("a", a_replica(lab, fault).host.name)], rate=8_000)


@nemesis("connections of a host are reset, again and again")
def reset(lab, fault):
    host = any_node(lab, fault).host
    while not fault.is_over():
        closed = host.ask("call", command=["ss", "-K", "-H", "-t", "state", "established"])["output"] or ""
        fault.fire(sum(1 for line in closed.splitlines() if ":74" in line))
        fault.sleep(0.2)
    yield


# MARK: clocks

@nemesis("the wall clock of a host jumps by up to 25 minutes and back", needs=("faketime",))
def clock_jump(lab, fault):
    node, offset = any_node(lab, fault), fault.random.randrange(-1500, 1500)
    fault.note(offset=offset)
    lab.set_clock(node, f"{offset:+d}s")
    fault.fire(1)
    yield
    lab.set_clock(node, "+0s")


@nemesis("the wall clock of a host runs at half or twice the rate", needs=("faketime",))
def clock_rate(lab, fault):
    node, rate = any_node(lab, fault), fault.random.choice(["0.5", "2"])
    fault.note(rate=rate)
    lab.set_clock(node, f"+0s x{rate}")
    fault.fire(1)
    yield
    lab.set_clock(node, "+0s")


# MARK: disks

@nemesis("the disk of a host is full", seconds=(3, 6), needs=("small-disk",))
def disk_full(lab, fault):
    node = any_node(lab, fault)
    filler = node.host.path("/var/lib/lockstep/filler")
    left = fault.random.choice([0, 32 << 20])
    status = os.statvfs(os.path.dirname(filler))
    size = status.f_bavail * status.f_frsize - left
    with open(filler, "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, max(size, 1 << 20))
        except OSError:
            pass  # It is as full as it gets.
    status = os.statvfs(os.path.dirname(filler))
    fault.note(left=status.f_bavail * status.f_frsize)
    fault.fire(int(status.f_bavail * status.f_frsize < 64 << 20))
    yield
    os.unlink(filler)


def inject(lab, fault, node, what, calls="fdatasync,fsync"):
    """Attaches strace to a node for the time of the fault; what it did is counted in its output."""
    process = node.process()["process"]
    log = f"{node.host.folder}/{fault.name}.strace"
    node.host.ask("run", name=fault.name, command=[
        "strace", "-f", "-o", log, "-p", str(process), "-e", f"trace={calls}", "-e", f"inject={calls}:{what}"])
    yield
    node.host.ask("signal", name=fault.name, signal="INT")
    if not node.host.ask("wait", name=fault.name, seconds=10)["ended"]:
        node.host.ask("signal", name=fault.name, signal="KILL")
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    fault.fire(text.count("INJECTED") + text.count("DELAYED") + text.count("killed by SIGKILL"))
    os.unlink(log)


@nemesis("each sync of a node's disk takes 20 to 200 ms more", needs=("strace",))
def slow_sync(lab, fault):
    delay = fault.random.randrange(20_000, 200_000)
    fault.note(microseconds=delay)
    yield from inject(lab, fault, any_node(lab, fault), f"delay_exit={delay}")


@nemesis("a sync of a node's disk fails; the node must stop, and is started again", needs=("strace",))
def failing_sync(lab, fault):
    when = fault.random.randrange(1, 20)
    fault.note(when=when)
    fault.expects_end = True
    yield from inject(lab, fault, any_node(lab, fault), f"error=EIO:when={when}")


@nemesis("SIGKILL to a node at its n-th write, sync or send", needs=("strace",))
def kill_at_call(lab, fault):
    call, when = fault.random.choice(["pwrite64", "fdatasync", "sendto"]), fault.random.randrange(1, 120)
    fault.note(call=call, when=when)
    yield from inject(lab, fault, any_node(lab, fault), f"signal=KILL:when={when}", call)


# MARK: resources

@nemesis("a host gets 15 % of a processor", seconds=(3, 6), needs=("cgroup-cpu",))
def squeeze(lab, fault):
    node = any_node(lab, fault)
    group = f"/sys/fs/cgroup/cpu/{node.host.namespace}"
    with open(f"{group}/cpu.cfs_quota_us", "w", encoding="ascii") as file:
        file.write("15000")
    yield
    with open(f"{group}/cpu.cfs_quota_us", "w", encoding="ascii") as file:
        file.write("-1")
    with open(f"{group}/cpu.stat", encoding="ascii") as file:
        throttled = int(dict(line.split() for line in file)["nr_throttled"])
    fault.fire(throttled - lab.throttled.get(node.host.name, 0))
    lab.throttled[node.host.name] = throttled


# MARK: membership

@nemesis("a replica joins from nothing and leaves", seconds=(1, 4))
def join(lab, fault):
    lab.joined += 1
    node = lab.add("x", name=f"node-x{lab.joined}")
    node.start()
    fault.fire(int(wait_until(lambda: lab.is_ready("x"), 30, 0.2)))
    yield
    node.stop()
    del lab.nodes["x"]
    shutil.rmtree(node.host.path(node.data))


@nemesis("a replica comes back with a copy of its disk from before", seconds=(3, 6))
def old_disk(lab, fault):
    node = a_replica(lab, fault)
    disk, copy = node.host.path(node.data), node.host.path(node.data) + "-before"
    node.stop()
    shutil.copytree(disk, copy, ignore=shutil.ignore_patterns("admin"))
    keep_owner(disk, copy)
    node.start()
    yield
    node.stop()
    shutil.rmtree(disk)
    os.rename(copy, disk)
    fault.fire(1)
    node.start()


def keep_owner(source, copy):
    """Gives the copy of a folder its owner, whatever user the units name."""
    owner = os.stat(source)
    for path in [copy] + glob.glob(copy + "/**", recursive=True):
        os.chown(path, owner.st_uid, owner.st_gid)


@nemesis("all nodes are restarted one after the other with the previous build, and then with this one", seconds=(0, 1))
def rolling_restart(lab, fault):
    for program in (lab.previous, lab.program):
        for letter in sorted(lab.nodes, reverse=True):
            node = lab.nodes[letter]
            node.stop()
            lab.install(node.host, program)
            node.start()
            fault.fire(int(wait_until(lambda letter=letter: lab.is_ready(letter), 30, 0.1)))
    yield


def available(names):
    """Those of the nemeses for which this machine has what they need, and what the others lack."""
    have = {
        "strace": bool(shutil.which("strace")),
        "faketime": bool(faketime()),
        "small-disk": bool(shutil.which("mkfs.ext4")) and os.path.exists("/dev/loop-control"),
        "cgroup-cpu": os.path.exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
        or os.path.isdir("/sys/fs/cgroup/cpu"),
    }
    missing = {name: [need for need in entry.needs if not have[need]] for name, entry in NEMESES.items()}
    return [name for name in names if not missing[name]], {name: missing[name] for name in names if missing[name]}


def faketime():
    """The library that gives a process another clock."""
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None
