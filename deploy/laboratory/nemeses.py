"""What can happen to the cluster, by name.

A nemesis is a function that begins a fault and yields; it is resumed when the fault is to end. It notes in `fault` what
it did, so that a report can tell a fault that fired from one that hit nothing. All choices come from the fault's own
generator, which the run's seed determines.
"""
import contextlib
import errno
import glob
import os
import shutil
import time

from namespaces import wait_until

from . import failover, network  # noqa: F401  They enter their nemeses.
from .registry import NEMESES, a_primary, another_node, any_node, nemesis  # noqa: F401

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
    while not fault.is_over():
        letter = a_primary(lab, fault)
        fault.event()
        fault.fire(int(lab.nodes[letter].kill()))
        fault.note(target=letter)
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


# MARK: clocks

@nemesis("the wall clock of a host jumps by up to 25 minutes and back", needs=("faketime",))
def clock_jump(lab, fault):
    node, offset = any_node(lab, fault), fault.random.randrange(-1500, 1500)
    fault.note(offset=offset)
    lab.set_clock(node, offset=offset)
    fault.fire(1)
    yield
    lab.set_clock(node)


@nemesis("the wall clock of a host runs at half or twice the rate", needs=("faketime",))
def clock_rate(lab, fault):
    node, rate = any_node(lab, fault), fault.random.choice(["0.5", "2"])
    fault.note(rate=rate)
    lab.set_clock(node, rate=rate)
    fault.fire(1)
    yield
    lab.set_clock(node)


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


@nemesis("no sync of the primary's disk ends; another node must take its place", seconds=(6, 9),
         needs=("strace", "data-nodes"))
def hang_sync(lab, fault):
    letter = a_primary(lab, fault)
    store = fault.record["store"]
    epoch = lab.epoch(store)
    fault.note(target=letter)
    steps = inject(lab, fault, lab.nodes[letter], f"delay_exit={10**9}")
    next(steps)
    yield
    # The time counts from before the fault was made.
    if not wait_until(lambda: lab.epoch(store) != epoch, 30, 0.2):
        lab.problems.append(f"{letter}, whose disk does not sync, kept the post of {store} (fault {fault.name})")
    for _ in steps:
        pass


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
    host = any_node(lab, fault).host
    with limited(f"{host.group('cpu')}/cpu.cfs_quota_us", 15_000):
        yield
    with open(f"{host.group('cpu')}/cpu.stat", encoding="ascii") as file:
        throttled = int(dict(line.split() for line in file)["nr_throttled"])
    fault.fire(throttled - lab.throttled.get(host.name, 0))
    lab.throttled[host.name] = throttled


@nemesis("a node gets hardly more memory than it has in use; the kernel may kill it", seconds=(3, 6),
         needs=("cgroup-memory",))
def memory_squeeze(lab, fault):
    group = any_node(lab, fault).host.group("memory")
    before = read_number(f"{group}/memory.failcnt")
    with open(f"{group}/memory.stat", encoding="ascii") as file:
        used = int(dict(line.split() for line in file)["rss"])
    limit = used + fault.random.randrange(1, 6) * 2**20
    with limited(f"{group}/memory.limit_in_bytes", limit, step=2**20) as accepted:
        fault.note(limit=accepted)
        yield
    fault.fire(read_number(f"{group}/memory.failcnt") - before)


@contextlib.contextmanager
def limited(path, value, step=0):
    """Sets a limit of a control group, and lifts it however the fault ends.

    The kernel refuses a limit below what it cannot take back; the limit then grows by steps until it is accepted.
    """
    def write(number):
        # Not through a buffer: that writes a refused number once more as it closes.
        with open(path, "wb", buffering=0) as file:
            file.write(str(number).encode())

    try:
        for _ in range(64):
            try:
                write(value)
                break
            except OSError as error:
                if error.errno != errno.EBUSY or not step:
                    raise
                value += step
        yield value
    finally:
        write(-1)


def read_number(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())


def overload(lab, fault, times):
    """Further clients offer so many times what the cluster can take, and do not wait for answers."""
    lab.clients += 1
    name = f"overload-{lab.clients}"
    before = lab.busy()
    history = f"{lab.output}/{name}.jsonl"
    fault.note(offered=round(times * lab.capacity), capacity=round(lab.capacity))
    lab.start_client(name, "stream", history, "--open", "--rate", str(times * lab.capacity), "--workers", "32")
    lab.histories.append(history)
    yield
    fault.note(busy=lab.busy() - before)
    fault.fire(fault.record["busy"])
    lab.hosts["k"].ask("signal", name=name, signal="TERM")
    fault.note(ended=time.monotonic())
    lab.hosts["k"].ask("wait", name=name, seconds=60)


@nemesis("clients offer 3 times what the cluster can take", seconds=(120, 120), needs=("capacity",))
def overload_3(lab, fault):
    yield from overload(lab, fault, 3)


@nemesis("clients offer 10 times what the cluster can take", seconds=(120, 120), needs=("capacity",))
def overload_10(lab, fault):
    yield from overload(lab, fault, 10)


# MARK: membership

@nemesis("a replica, or with data nodes one more of them, joins from nothing and leaves", seconds=(1, 4))
def join(lab, fault):
    lab.joined += 1
    node = lab.add("x", "data" if lab.data else "replica", name=f"node-x{lab.joined}")
    node.start()
    if wait_until(lambda: lab.is_ready("x"), 30, 0.2):
        fault.fire(1)
    else:
        lab.problems.append(f"{node.name}, which joins from nothing, does not serve after 30 s: {lab.status('x')}")
    yield
    if not node.stop():
        lab.problems.append(f"{node.name}, which had joined, did not stop when it was told to")
    lab.judge_ends(fault.began, "join", ["x"])
    lab.judge_log("x")
    del lab.nodes["x"]
    lab.revoke(node.name)
    shutil.rmtree(node.host.path(node.data))


@nemesis("a replica, or a data node that is no member, comes back with a copy of its disk from before", seconds=(3, 6))
def old_disk(lab, fault):
    node = another_node(lab, fault)
    disk, copy = node.host.path(node.data), node.host.path(node.data) + "-before"
    node.stop()
    shutil.copytree(disk, copy, ignore=shutil.ignore_patterns("admin"))
    keep_owner(disk, copy)
    node.start()
    yield
    node.stop()
    lab.await_removal(node)
    shutil.rmtree(disk)
    os.rename(copy, disk)
    fault.fire(1)
    fault.may_end = bool(lab.data)
    node.start()
    # A data node that has less than it acknowledged in the present epoch is refused, and needs another folder.
    if lab.data and wait_until(lambda: lab.is_ready(node.host.name) or node.is_down(), 30, 0.1) and node.is_down():
        fault.note(refused=True)
        lab.renew(node).start()


def keep_owner(source, copy):
    """Gives the copy of a folder its owner, whatever user the units name."""
    owner = os.stat(source)
    for path in [copy] + glob.glob(copy + "/**", recursive=True):
        os.chown(path, owner.st_uid, owner.st_gid)


@nemesis("all nodes are restarted one after the other with the previous build, and then with this one", seconds=(0, 1))
def rolling_restart(lab, fault):
    for program in (lab.previous, lab.lab_program):
        for letter in sorted(lab.nodes, reverse=True):
            node = lab.nodes[letter]
            node.stop()
            lab.install(node.host, program)
            node.start()
            fault.fire(int(wait_until(lambda letter=letter: lab.is_back(letter), 30, 0.1)))
    yield
