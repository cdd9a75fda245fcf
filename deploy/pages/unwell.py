"""Nodes that run and are not well: another state, a closed port, a node that refuses, replicas that are down."""
import contextlib
import re
import sys
import time

from namespaces import wait_until

from .operating import (NODE, PAGE, PRIMARY, REPLICA, add, alarms, await_phase, logged, phases, stores, unit_log,
                        value)
from .source import Broken
from .trouble import UNIT, WRONG, seen

FOLLOWER = "lockstep-replica"
AT_REPLICA = "tcp://10.0.0.2:7400"
# A counter whose value is nowhere else in a process.
ODD = "odd"
VALUE = 6_840_312_907_511_480_021
SPOIL = """
import re, struct, sys
process, old, new = sys.argv[1], struct.pack("<q", int(sys.argv[2])), struct.pack("<q", int(sys.argv[3]))
changed = 0
with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
    for first, last in re.findall("^([0-9a-f]+)-([0-9a-f]+) rw", maps.read(), re.MULTILINE):
        memory.seek(int(first, 16))
        content = memory.read(int(last, 16) - int(first, 16))
        for found in re.finditer(re.escape(old), content):
            memory.seek(int(first, 16) + found.start())
            changed += memory.write(new) == len(new)
print(changed)
"""


@contextlib.contextmanager
def closed(host, port):
    """A port of the primary is closed to a host, as a firewall does it: what goes there is dropped."""
    host.must(f"nft 'table inet closed {{ chain out {{ type filter hook output priority 0; "
              f"ip daddr 10.0.0.1 tcp dport {port} drop; }}; }}'")
    try:
        yield
    finally:
        host.must("nft delete table inet closed")


def spoil(host, old):
    """The memory of a host's replica is at fault: it has another value of the odd counter from now on."""
    process = host.must(f"systemctl show -p MainPID --value {FOLLOWER}").strip()
    if host.must(f"{sys.executable} - {process} {old} {old - 7} <<'END'{SPOIL}END\n").strip() == "0":
        raise Broken(f"the replica's memory does not have the value {old}")


def restarts(host):
    return int(host.must(f"systemctl show -p NRestarts --value {FOLLOWER}"))


def diverged(book, a, b):
    """DIVERGED: a replica's memory is changed behind its back, once and again."""
    section = book.section(PAGE, "DIVERGED")
    a.must(f"lockstep counter set {ODD} {VALUE} --node {NODE} --insecure")
    if not wait_until(lambda: value(b, AT_REPLICA, ODD) == VALUE, 10):
        raise Broken("the replica does not follow")
    spoil(b, VALUE)
    # Without this port it gets no snapshot, and stays as it is until somebody has looked.
    with closed(b, 7402):
        add(a, ODD)
        book.check(section, "a state that differs raises the alarm", seen(b, "DIVERGED"), phases(b))
        book.shows(section, "DIVERGED", alarms(b), "status")
        section.says("It serves nothing and fetches a snapshot.")
        asked = b.run(f"lockstep counter get {ODD} --node {AT_REPLICA} --insecure --timeout 2")
        book.check(section, "it serves nothing", "quarantined" in phases(b) and asked.status != 0, asked.text)
    section.says("Then it serves again, and the alarm stays until the node is restarted")
    book.check(section, "it serves again", wait_until(lambda: value(b, AT_REPLICA, ODD) == VALUE + 1, 30), phases(b))
    await_phase(b, "live")
    book.check(section, "the alarm stays", "DIVERGED" in alarms(b), alarms(b))
    section.says("If it happens again within an hour the node stops")
    before = restarts(b)
    spoil(b, VALUE + 1)
    add(a, ODD)
    book.check(section, "the second time the node stops, and its log says why",
               wait_until(lambda: "differed again" in unit_log(b, FOLLOWER), 15, 0.2), unit_log(b, FOLLOWER))
    section.says("its unit starts it again, without the alarm")
    book.check(section, "its unit starts it again", wait_until(lambda: restarts(b) > before, 10, 0.2), restarts(b))
    await_phase(b, "live")
    book.check(section, "the alarm is gone", not alarms(b), alarms(b))
    book.check(section, "it has the primary's state", value(b, AT_REPLICA, ODD) == VALUE + 2)
    compared(book, section, a, b)


def compared(book, section, a, b):
    """The commands of the section, on both hosts."""
    versions = [book.quoted(host, at, "lockstep --version").output
                for at in (book.section(PAGE, WRONG), section) for host in (a, b)]
    book.check(section, "both hosts have one version", len(set(versions)) == 1, versions)
    a.must(f"systemctl stop {UNIT}")
    b.must(f"systemctl stop {FOLLOWER}")
    section.says("The journal is not at fault.")
    shown = book.quoted(b, section, "sudo -u lockstep lockstep journal inspect")
    begins = re.search(r"^snapshot +at (\d+),", shown.output, re.MULTILINE)
    section.says("the replica's begins with the snapshot that it has fetched")
    book.check(section, "the replica's journal begins with a snapshot", begins, shown.text)
    states = [book.run(host, section, "sudo -u lockstep lockstep journal state-at", SEQUENCE=begins[1], **rules).output
              for host, rules in ((a, {REPLICA: PRIMARY}), (b, {}))]
    book.check(section, "the journals of both have one state at the place",
               states[0] == states[1] and str(VALUE + 1) in states[0], states)
    done = book.run(b, section, "sudo -u lockstep lockstep journal dump")
    book.check(section, "dump shows the entries", '"kind":' in done.output, done.text)
    a.must(f"systemctl start {UNIT}")
    b.must(f"systemctl start {FOLLOWER}")
    await_phase(a, "admitting")
    await_phase(b, "live")


def closed_port(book, a, b):
    """A replica that is started while one port of its primary is closed to its host, and then opened."""
    section = book.section(PAGE, WRONG)
    section.says("replica: stays `joining`, no alarm")
    section.says("if it is 7401, the lag stays 0, whatever it lacks")

    def is_joining(port):
        found = stores(b)
        return found and all((store["phase"], store["alarms"]) == ("joining", []) for store in found) \
            and (port != 7401 or not any(store["lag"] for store in found))

    for port, other in ((7401, 7402), (7402, 7401)):
        b.must(f"systemctl stop {FOLLOWER}")
        with closed(b, port):
            count = add(a)
            b.must(f"systemctl start {FOLLOWER}")
            book.check(section, f"without port {port} a replica joins",
                       wait_until(lambda port=port: is_joining(port), 15, 0.2), stores(b))
            done = book.quoted(b, section, "nc -v", expect=None)
            book.check(section, f"the command shows that port {port} is closed",
                       re.search(f"port {port} .*timed out", done.text)
                       and re.search(f" {other} port .*succeeded", done.text), done.text)
            # The command has waited for some seconds.
            book.check(section, f"without port {port} it stays so", is_joining(port), stores(b))
        await_phase(b, "live")
        book.check(section, "with its port a replica has all", value(b, AT_REPLICA) == count, value(b, AT_REPLICA))


def settings(book, host):
    """A primary and a replica of it on one host."""
    for title, name, address in (("3. The primary", "primary", "10.0.0.1"), ("5. Each replica", "replica", "10.0.0.2")):
        content = book.section(PAGE, title).files[0][1]
        content = re.sub(rf"(?<=LISTEN=tcp://){address}:7400", f"{host.address}:{7400 if name == 'primary' else 7500}",
                         content).replace("10.0.0.1", host.address)
        host.must(f"printf '%s' '{content}' >/etc/lockstep/{name}.env && "
                  f"cp deploy/systemd/lockstep-{name}.service /etc/systemd/system/")
    host.must("systemctl daemon-reload")


def made(host, data, *words):
    """Makes a node's folder; the cluster's ID."""
    done = host.must(f"sudo -u lockstep lockstep init --data {data} {' '.join(words)}")
    return re.search(r"^cluster ([0-9a-f]{32})$", done, re.MULTILINE)[1]


def refused(book, d):
    """REFUSED: the primary lacks a store, and then one of another cluster is at its address."""
    section = book.section(PAGE, "REFUSED")
    settings(book, d)
    cluster = made(d, PRIMARY, "--node node-x --store counters")
    made(d, REPLICA, "--node node-y --cluster", cluster)
    d.must(f"systemctl start {UNIT} {FOLLOWER}")
    book.check(section, "a store that the primary lacks raises the alarm", seen(d, "REFUSED"), phases(d))
    book.shows(section, "REFUSED", alarms(d), "status")
    section.says("`there is no store named")
    book.check(section, "it names the store", "there is no store named search" in alarms(d), alarms(d))
    section.says("This node goes on with what it has")
    book.check(section, "its other store is live",
               wait_until(lambda: phases(d) == ["connecting", "live"], 15, 0.2), stores(d))
    done = book.quoted(d, book.section(PAGE, WRONG), f"sudo -u lockstep lockstep status --data {PRIMARY}")
    book.check(section, "the primary's status shows its stores",
               "counters" in done.output and "search" not in done.output, done.text)
    book.run_all(d, section, ("sudo systemctl stop", "sudo -u lockstep lockstep init", "sudo systemctl start"))
    section.says("The alarm ends by itself")
    await_phase(d, "live")
    book.check(section, "the alarm ends", wait_until(lambda: not alarms(d), 15, 0.2), alarms(d))
    strange(book, section, d)


def strange(book, section, d):
    """A primary of another cluster at the address, under a replica that runs and under one that is started."""
    d.must(f"systemctl stop {UNIT} && mv {PRIMARY} {PRIMARY}-own")
    other = made(d, PRIMARY, "--node node-z")
    d.must(f"systemctl start {UNIT}")
    section.says("a node that runs says so, with that cluster's ID")
    book.check(section, "a primary of another cluster raises the alarm",
               wait_until(lambda: f"belongs to cluster {other}" in alarms(d), 15, 0.2), alarms(d))
    book.check(section, "the replica does not take its place", not d.root(
        f"lockstep counter list --node tcp://{d.address}:7500 --insecure --timeout 5").output, alarms(d))
    section.says("one that is started ends with 65")
    d.must(f"systemctl restart {FOLLOWER}")
    is_failed = wait_until(lambda: d.root(f"systemctl is-active {FOLLOWER}").output.strip() == "failed", 15, 0.2)
    ended = d.must(f"systemctl show -p ExecMainStatus --value {FOLLOWER}").strip()
    book.check(section, "one that is started ends with the status of a folder that is not of this cluster",
               is_failed and ended == str(book.status("not one of this cluster")), ended)
    d.must(f"systemctl stop {UNIT} && rm -rf {PRIMARY} && mv {PRIMARY}-own {PRIMARY} && "
           f"systemctl reset-failed {FOLLOWER} && systemctl start {UNIT} {FOLLOWER}")
    await_phase(d, "live")
    book.check(section, "with its own cluster's primary it is well", not alarms(d), alarms(d))
    d.must(f"systemctl stop {FOLLOWER} {UNIT} && rm -rf {PRIMARY} {REPLICA}")


def told_audience(book, a, b):
    """Section 8: a primary is told how long it hears its replicas, of which one cannot be reached."""
    section = book.section(PAGE, "8. Stop, start, upgrade")
    a.must("cp /etc/lockstep/primary.env /tmp/heard")

    def restart(seconds):
        a.must(f"sed '/^LOCKSTEP_OPTIONS=/s/$/ --audience-timeout {seconds}/' /tmp/heard >/etc/lockstep/primary.env && "
               f"systemctl restart {UNIT}")

    b.ip("link", "set", "eth0", "down")
    try:
        section.says("With 0 the primary admits at once. If its folder was put back from an old copy, it may then "
                     "acknowledge actions before it learns that it is behind")
        began = time.time()
        restart(0)
        await_phase(a, "admitting")
        recovered, waits = logged(a, UNIT, "recovered"), logged(a, UNIT, "waits for its replicas")
        book.check(section, "with 0 it admits at once", waits < began < recovered, unit_log(a, UNIT))
        section.says("`--audience-timeout SECONDS` sets the bound.")
        restart(20)
        book.check(section, "it waits", wait_until(lambda: phases(a) == ["awaiting"], 15, 0.2), phases(a))
        book.check(section, "its log says so", logged(a, UNIT, "waits for its replicas") > began, unit_log(a, UNIT))
        book.check(section, "it waits longer than without the option",
                   not wait_until(lambda: "admitting" in phases(a), 8, 0.2), unit_log(a, UNIT))
    finally:
        b.ip("link", "set", "eth0", "up")
        a.must("cp /tmp/heard /etc/lockstep/primary.env")
    # It has heard all, and does not wait for the rest of the time.
    await_phase(a, "admitting")
    a.must(f"systemctl restart {UNIT}")
    await_phase(a, "admitting")
    await_phase(b, "live", 60)
