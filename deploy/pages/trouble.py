"""Section 11 of deploy/README.md: each case is brought about, and its commands are to help as the page says."""
import re
import sys

from namespaces import wait_until

from .operating import (NODE, PAGE, PRIMARY, REPLICA, add, alarms, await_phase, phases, stores, unit_log, value)
from .source import Broken

UNIT = "lockstep-primary"
FLOOD = f"sudo {sys.executable} deploy/pages/flood.py"
WRONG = "11. When something is wrong"


def seen(host, text, seconds=15):
    """Whether an alarm of a host's node begins so, in time."""
    return wait_until(lambda: re.search(rf"(^|\| ){text}", alarms(host)), seconds, 0.2)


def failed_unit(book, a):
    """A wrong option: the unit stays failed, and its log says why."""
    section = book.section(PAGE, "The unit has failed")
    section.says("a unit that is `failed` is started by you, when its reason is gone")
    a.must("cp /etc/lockstep/primary.env /tmp/kept && sed -i 's/--insecure/--no-such/' /etc/lockstep/primary.env")
    a.must(f"systemctl restart {UNIT}")
    book.check(section, "wrong options leave the unit failed",
               wait_until(lambda: a.root(f"systemctl is-active {UNIT}").output.strip() == "failed", 10))
    ended = a.must(f"systemctl show -p ExecMainStatus -p NRestarts {UNIT}")
    book.check(section, "wrong options are status 64, and are not tried again",
               f"ExecMainStatus={book.status('wrong usage')}" in ended and "NRestarts=0" in ended, ended)
    book.quoted(a, book.section(PAGE, WRONG), "sudo journalctl")
    a.root("journalctl --sync")
    done = book.run(a, section, "sudo journalctl")
    book.check(section, "a node's last lines say what to do", "no-such" in done.output, done.text)
    a.must("cp /tmp/kept /etc/lockstep/primary.env")
    book.run(a, section, "sudo systemctl reset-failed")
    book.run(a, section, "sudo systemctl start")
    await_phase(a, "admitting")
    quiet_start(book, section, a)


def quiet_start(book, section, a):
    """The unit gives the right to raise a thread's priority, without which the runtime writes a line of its own."""
    limit = "Max nice priority +24 "
    asked = a.must(f"systemctl show -p LimitNICE {UNIT}").strip()
    book.check(section, "the unit asks for the right", asked == "LimitNICE=24", asked)
    # systemd cannot give what the machine has taken from it, as containers often do.
    if re.search(limit, a.must(f"cat /proc/$(systemctl show -p MainPID --value {UNIT})/limits")):
        log = a.must(f"journalctl -u {UNIT} --no-pager -o cat")
        book.check(section, "no start writes a line of the runtime", "thread priority" not in log, log)


def no_primary(book, a, b):
    """NO_PRIMARY: the primary is stopped."""
    section = book.section(PAGE, WRONG)
    a.must(f"systemctl stop {UNIT}")
    try:
        book.check(section, "a replica without a primary says so", seen(b, "NO_PRIMARY"), alarms(b))
        done = book.quoted(a, section, "sudo systemctl status", expect=None)
        book.check(section, "the primary's unit says what it is", "inactive (dead)" in done.output, done.text)
        section = book.section("docs/SEARCH.md", "What it decides, and where")
        done = b.run("lockstep search query unheard --node tcp://10.0.0.2:7400 --insecure")
        book.check(section, "a query that nobody can answer ends with 69", done.status == 69, f"{done.status}: {done.text}")
        book.takes(section, "at a replica says so after {} and ends", done.seconds, is_exact=True)
    finally:
        a.must(f"systemctl start {UNIT}")
    await_phase(a, "admitting")
    book.check(section, "the alarm ends", wait_until(lambda: not alarms(b), 15, 0.2), alarms(b))


def full_disk(book, a, b):
    """DISK_FULL, of a primary and of a replica, that run and that are started."""
    section = book.section(PAGE, "DISK_FULL")
    try:
        running_full(book, section, a, b)
        started_full(book, section, a, b)
    finally:
        for host in (a, b):
            host.root("rm -f /var/lib/lockstep/fill*")


def running_full(book, section, a, b):
    count = add(a)
    fill(a, 40)
    book.check(section, "less than 64 MiB raise the alarm", seen(a, "DISK_FULL"), alarms(a))
    book.quoted(a, book.section(PAGE, WRONG), "df -h")
    done = book.run(a, section, "df -h")
    book.check(section, "df shows the disk", "/var/lib/lockstep" in done.output, done.text)
    section.says("New actions get BUSY; reads go on; nothing that was acknowledged is in danger.")
    refused = a.run(f"lockstep counter add visits --node {NODE} --insecure --timeout 2")
    book.check(section, "new actions are not taken", refused.status != 0, refused.text)
    book.check(section, "reads go on", value(b) == count)


def started_full(book, section, a, b):
    last = value(b)
    for way in ("kill --signal KILL", "restart") * 3:
        starts_full(book, section, a, way)
    book.check(section, "other hosts read at the replicas", value(b, "tcp://10.0.0.3:7400") is not None)
    section.says("the node tries again by itself, and the alarm ends")
    a.must("rm -f /var/lib/lockstep/fill*")
    await_phase(a, "admitting", 15)
    fill(b, 0)
    b.must("systemctl kill --signal KILL lockstep-replica")
    b.root("sleep 2")
    await_phase(b, "live", 20)
    book.check(section, "a replica on a full disk answers reads", value(a, "tcp://10.0.0.2:7400") is not None)
    b.must("rm -f /var/lib/lockstep/fill*")
    book.check(section, "the alarm ends", wait_until(lambda: "DISK_FULL" not in alarms(a) + alarms(b), 15), alarms(a))
    book.check(section, "nothing that was acknowledged is lost", add(a) > last)


def starts_full(book, section, a, way):
    """A start of the primary on a full disk: its process stays, and waits for room."""
    fill(a, 0)
    process = f"systemctl show -p MainPID --value {UNIT}"
    before = a.must(process)
    a.must(f"systemctl {way} {UNIT}")
    # The phase before the end is not the one that counts.
    if not wait_until(lambda: a.must(process).strip() not in ("0", before.strip()), 10, 0.1):
        raise Broken(f"the unit is not started again: {unit_log(a, UNIT)}")
    state = f"systemctl show -p NRestarts -p MainPID {UNIT}"
    started = a.must(state)
    book.check(section, f"a primary that is started on a full disk ({way}) waits, with the alarm",
               wait_until(lambda: phases(a) == ["opening"], 15, 0.1) and seen(a, "DISK_FULL"), unit_log(a, UNIT))
    # A node that ends is started again after half a second.
    a.root("sleep 1")
    book.check(section, f"it does not end ({way})", a.must(state) == started and phases(a) == ["opening"],
               f"{started}{a.must(state)}{unit_log(a, UNIT)}")


def fill(host, left):
    """Leaves so many MiB on a host's disk."""
    free = int(host.must("df --output=avail -B1 /var/lib/lockstep | tail -1"))
    if left:
        host.must(f"fallocate -l {max(1, free - (left << 20))} /var/lib/lockstep/fill")
        return
    host.root("dd if=/dev/zero of=/var/lib/lockstep/fill-1 bs=64k; dd if=/dev/zero of=/var/lib/lockstep/fill-2 bs=1k")


def old_copy(a, count=3, query=None):
    """An old copy of the primary's folder is put back; the last value that was acknowledged.

    With a query, which nobody made before, the copy is old for the searches too: each replica has answered it.
    """
    a.must(f"systemctl stop {UNIT} && rm -rf /backup/old && mkdir -p /backup && cp -a {PRIMARY} /backup/old && "
           f"systemctl start {UNIT}")
    last = [add(a) for _ in range(count)][-1]
    for node in ("tcp://10.0.0.2:7400", "tcp://10.0.0.3:7400") if query else ():
        a.must(f"lockstep search query {query} --node {node} --insecure")
    if not wait_until(lambda: value(a, "tcp://10.0.0.2:7400") == last == value(a, "tcp://10.0.0.3:7400"), 10):
        raise Broken("the replicas do not follow")
    a.must(f"systemctl stop {UNIT} && rm -rf {PRIMARY} && cp -a /backup/old {PRIMARY} && systemctl start {UNIT}")
    return last


def recovered(book, a, last, source="10.0.0.2"):
    """The way out of PRIMARY_BEHIND: the primary fetches what it lacks from a replica, and has the last value again."""
    section = book.section(PAGE, "PRIMARY_BEHIND")
    book.check(section, "the alarm is raised", seen(a, "PRIMARY_BEHIND"), phases(a))
    book.shows(section, "PRIMARY_BEHIND", alarms(a), "status")
    section.says("It admits nothing")
    refused = a.run(f"lockstep counter add visits --node {NODE} --insecure --timeout 2")
    book.check(section, "it admits nothing", refused.status != 0, refused.text)
    book.quoted(a, book.section(PAGE, WRONG), "sudo systemctl stop")
    a.must(f"rm -rf {PRIMARY}-behind")
    for beginning in ("sudo systemctl stop", "sudo cp -a"):
        book.run(a, section, beginning)
    done = book.run(a, section, "sudo -u lockstep lockstep recover --data /var/lib/lockstep/primary --from",
                    **{"10.0.0.2": source})
    section.says("It takes all stores of the folder, one after the other")
    book.check(section, "recover takes all stores", "counters" in done.text and "search" in done.text, done.text)
    done = book.run(a, section, "sudo -u lockstep lockstep journal inspect")
    book.check(section, "inspect shows all stores", "counters" in done.output and "search" in done.output, done.text)
    book.run(a, section, "sudo -u lockstep lockstep journal dump")
    book.run(a, section, "sudo systemctl start")
    done = book.run(a, section, "sudo -u lockstep lockstep status")
    book.check(section, "the primary admits", "admitting" in done.output, done.text)
    book.check(section, "what was acknowledged is there again", add(a) == last + 1)


def accepted_loss(book, a, b, c):
    """PRIMARY_BEHIND, and the loss is accepted: the replicas are AHEAD, and are begun anew."""
    section = book.section(PAGE, "PRIMARY_BEHIND")
    last = old_copy(a, query="own")
    book.check(section, "an old copy raises the alarm", seen(a, "PRIMARY_BEHIND"), phases(a))
    # Each store says for itself what it lacks; one that nobody has told yet has nothing to give up.
    named = {}

    def are_named():
        named.update((store["name"], alarm) for store in stores(a) for alarm in store["alarms"]
                     if alarm.startswith("PRIMARY_BEHIND"))
        return len(named) == 2

    wait_until(are_named, 30)
    for store, alarm in sorted(named.items()):
        a.must(f"systemctl stop {UNIT}")
        place = re.search(r"knows ([0-9]+:[0-9]+):", alarm)
        if not place:
            raise Broken(f"the alarm names no position: {alarm}")
        wrong = place[1] + "9"
        done = a.run(f"sudo -u lockstep lockstep recover --data {PRIMARY} --store {store} --accept-loss {wrong}")
        section.says("The command takes the position that the alarm of the last start named, and no other")
        book.check(section, "no other position is taken", done.status != 0, done.text)
        book.run(a, section, f"sudo -u lockstep lockstep recover --data {PRIMARY} --store {store} --accept-loss",
                 **{"EPOCH:SEQUENCE": place[1]})
    a.must(f"systemctl start {UNIT}")
    await_phase(a, "admitting")
    book.check(section, "what was given up is gone", value(a) < last, value(a))
    ahead = book.section(PAGE, "AHEAD")
    for host, name in ((b, "node-b2"), (c, "node-c2")):
        book.check(ahead, "replicas that have the entries say AHEAD", seen(host, "AHEAD"), phases(host))
        book.shows(ahead, "AHEAD", alarms(host), "status")
        done = book.quoted(host, book.section(PAGE, WRONG), f"sudo -u lockstep lockstep status --data {REPLICA}")
        book.check(ahead, "status shows it", "AHEAD" in done.output, done.text)
        for beginning in ("sudo systemctl stop", "sudo mv", "sudo -u lockstep lockstep init", "sudo systemctl start"):
            book.run(host, ahead, beginning, **{"node-b2": name})
        done = book.run(host, ahead, "sudo -u lockstep lockstep status")
        book.check(ahead, "the new replica is live", "live" in done.output, done.text)
    add(a)


SPOIL = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
with database:
    database.execute("UPDATE batches SET bytes = zeroblob(length(bytes)) "
                     f"WHERE first = (SELECT {sys.argv[2]}(first) FROM batches)")
database.close()
"""


def damage(host, folder, store="counters", which="max"):
    """Spoils the last batch that a journal has of a store, or (`min`) the first."""
    host.must(f"{sys.executable} - {folder}/{store}.sqlite {which} <<'END'{SPOIL}END\n")


def damaged_replica(book, b):
    section = book.section(PAGE, "The journal is damaged")
    b.must("systemctl stop lockstep-replica")
    damage(b, REPLICA)
    b.must("systemctl start lockstep-replica")
    book.check(section, "the node does not start, and is not tried again",
               wait_until(lambda: b.root("systemctl is-active lockstep-replica").output.strip() == "failed", 10))
    status = b.must("systemctl show -p ExecMainStatus lockstep-replica").strip()
    book.check(section, "its status is that of damage", status.endswith(f"={book.status('is damaged')}"), status)
    book.check(section, "the message names the sequence number",
               re.search(r"sequence number \d+", unit_log(b, "lockstep-replica")), unit_log(b, "lockstep-replica"))
    book.quoted(b, book.section(PAGE, WRONG), f"sudo -u lockstep lockstep journal verify --data {REPLICA}",
                expect=book.status("is damaged"))
    book.quoted(b, section, "dmesg", dmesg="sudo dmesg")
    book.run(b, section, "sudo cp -a /var/lib/lockstep/replica")
    section.says("`verify` ends with 65 if there is any")
    done = book.run(b, section, "sudo -u lockstep lockstep journal verify", expect=book.status("is damaged"))
    book.check(section, "verify lists the damage", re.search(r"batch at sequence number \d+", done.text), done.text)
    for beginning in ("sudo mv /var/lib/lockstep/replica", "sudo -u lockstep lockstep init --data /var/lib/lockstep/repl"):
        book.run(b, section, beginning)
    b.must("systemctl reset-failed lockstep-replica")
    book.run(b, section, "sudo systemctl start lockstep-replica")
    done = book.run(b, section, "sudo -u lockstep lockstep status --data /var/lib/lockstep/replica")
    book.check(section, "it fetches everything", "live" in done.output, done.text)


def damaged_primary(book, a):
    section = book.section(PAGE, "The journal is damaged")
    last = add(a)
    if not wait_until(lambda: value(a, "tcp://10.0.0.2:7400") == last, 10):
        raise Broken("the replica does not follow")
    a.must(f"systemctl stop {UNIT}")
    damage(a, PRIMARY)
    a.must(f"systemctl start {UNIT}")
    book.check(section, "the primary does not start",
               wait_until(lambda: a.root(f"systemctl is-active {UNIT}").output.strip() == "failed", 10))
    done = book.run(a, section, "sudo -u lockstep lockstep recover --data /var/lib/lockstep/primary --from")
    section.says("the old files are kept in a folder beside it, which the command names")
    kept = re.search(r"the old files are in (\S+)", done.output)
    book.check(section, "recover makes the journal anew and names the folder with the old files",
               kept and a.root(f"test -d {kept[1]}").status == 0, done.text)
    book.run(a, section, "sudo systemctl start lockstep-primary")
    done = book.run(a, section, "sudo -u lockstep lockstep status --data /var/lib/lockstep/primary")
    book.check(section, "the primary serves again", "admitting" in done.output, done.text)
    book.check(section, "what the replica had is there", add(a) == last + 1)


def saved_bytes(host):
    """The bytes of the newest snapshot that a host's node has saved of the counters."""
    return max((store["journal"]["snapshotBytes"] for store in stores(host) if store["name"] == "counters"), default=0)


def damaged_before(book, a, b):
    """JOURNAL_DAMAGED: a batch is damaged that is older than the newest snapshot; the primary is made anew."""
    section = book.section(PAGE, "JOURNAL_DAMAGED")
    a.must("sed -i '/^LOCKSTEP_OPTIONS=/s/$/ --snapshot-after 1048576/' /etc/lockstep/primary.env && "
           f"systemctl restart {UNIT}")
    await_phase(a, "admitting")
    before = saved_bytes(a)
    b.start(f"{FLOOD} 10.0.0.1 7400 writes writer 2", "/tmp/flood.log")
    if not wait_until(lambda: "done" in b.root("cat /tmp/flood.log").output, 60, 0.2):
        raise Broken(f"the log does not grow: {b.root('cat /tmp/flood.log').text}")
    b.root("pkill -f pages/flood.py")
    look = f"{sys.executable} -c \"import sqlite3; print(sqlite3.connect('{PRIMARY}/counters.sqlite')" \
        ".execute('SELECT (SELECT max(sequence) FROM snapshots), (SELECT min(last) FROM batches)').fetchone())\""
    # One of more counters has another size; 0 is no answer.
    wait_until(lambda: saved_bytes(a) not in (0, before), 30, 0.5)
    a.must(f"systemctl stop {UNIT}")
    found = re.match(r"\((\d+), (\d+)\)", a.must(look))
    if not found or int(found[1]) <= int(found[2]):
        raise Broken(f"there is no batch before the newest snapshot: {a.must(look)}")
    damage(a, PRIMARY, which="min")
    a.must(f"sed -i 's/ --snapshot-after 1048576$//' /etc/lockstep/primary.env; systemctl start {UNIT}")
    last = raised_damage(book, section, a)
    for beginning in ("sudo systemctl stop", "sudo -u lockstep lockstep recover", "sudo systemctl start"):
        done = book.run(a, section, beginning)
        if "recover" in beginning:
            book.check(section, "the journal is made anew", "the old files are in" in done.text, done.text)
    await_phase(a, "admitting")
    verified = a.root(f"systemctl stop {UNIT}; sudo -u lockstep lockstep journal verify --data {PRIMARY}; "
                      f"e=$?; systemctl start {UNIT}; exit $e")
    book.check(section, "the damage is gone", verified.status == 0, verified.text)
    await_phase(a, "admitting")
    book.check(section, "nothing was lost", add(a) == last + 1 and not alarms(a), alarms(a))


def raised_damage(book, section, a):
    """The alarm, and that the node goes on; the last value."""
    book.check(section, "damage to older entries raises the alarm", seen(a, "JOURNAL_DAMAGED", 20), unit_log(a, UNIT))
    book.shows(section, "JOURNAL_DAMAGED", alarms(a), "status")
    section.says("This node does not need them, so it goes on.")
    last = add(a)
    a.must(f"systemctl stop {UNIT}")
    section.says("`journal verify` on a copy of its folder, or on the folder of a stopped node, lists all of it.")
    done = book.quoted(a, book.section(PAGE, WRONG), f"sudo -u lockstep lockstep journal verify --data {PRIMARY}",
                       expect=book.status("is damaged"))
    book.check(section, "verify lists the damage", re.search(r"batch at sequence number \d+", done.text), done.text)
    a.must(f"systemctl start {UNIT}")
    return last


def in_use(book, a):
    section = book.section(PAGE, "The journal is in use")
    section.says("Another process has the folder; the message names it.")
    done = a.root(f"sudo -u lockstep lockstep serve --data {PRIMARY} --listen tcp://127.0.0.1:7600", seconds=10)
    process = a.must(f"systemctl show -p MainPID --value {UNIT}").strip()
    book.check(section, "a second node is refused", done.status not in (0, 124), done.text)
    book.check(section, "the message names the process, or the socket that it serves",
               process in done.text or "admin" in done.text, done.text)
