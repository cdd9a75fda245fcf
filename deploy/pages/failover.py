"""docs/FAILOVER.md: what an operator does to data nodes, on hosts that section 14 of deploy/README.md has set up."""
import re
import time

from namespaces import wait_until

from . import data, etcd, worst
from .data import (CLUSTER, DATA, FAILOVER, HERE, LOST, NODES, UNIT, alarmed, count, ended, handed_over, lead, leader,
                   listed, record, settle)
from .operating import NODE, PAGE, PRIMARY, await_phase, unit_log
from .source import Broken
from .trouble import WRONG

REBIND = f"sudo -u lockstep lockstep cluster rebind --data {DATA}"
AGAIN = 1 << 40  # Records that bind a store again have numbers from a multiple of this on.


def play(book, a, b, c, d):
    """All situations of data nodes, each of which leaves three of them that are well."""
    nodes = (a, b, c)
    if book.situation("several data nodes", data.made, *nodes, d):
        book.situation("a primary that fails", data.taken_over, *nodes, d)
        book.situation("posts of data nodes", posts, *nodes)
        book.situation("too few members", data.insufficient, *nodes, d)
        book.situation("a lost data node", lost_host, *nodes, d)
        book.situation("etcd is away", data.away, *nodes, d)
        book.situation("etcd is set back", set_back, *nodes, d)
        book.situation("a record is missing", missing, *nodes, d)
        book.situation("all members are gone", gone, *nodes, d)
        book.situation("a data node is restored", restored, *nodes, d)
        book.situation("etcd is lost", lost_etcd, *nodes, d)
        book.situation("etcd is full", worst.full, *nodes, d)
        book.situation("one primary and back", alone, *nodes, d)
        book.situation("all data nodes are lost", worst.all_lost, *nodes, d)
        book.situation("etcd with certificates", data.certificates, *nodes, d)
    book.situation("one primary as before", data.put_back, *nodes)


def stop(host):
    host.must(f"systemctl stop {UNIT}")


def start(host):
    host.must(f"systemctl start {UNIT}")


def posts(book, a, b, c):
    """Handovers, and the balance of posts."""
    section, nodes = book.section(FAILOVER, "A planned handover, and a rolling restart"), (a, b, c)
    lead(a, nodes)
    done = handed_over(book, section, nodes, "lockstep cluster handover --data data/node-a")
    section.says("It prints who leads each store now, and how long that took")
    took = re.findall(r"^(?:counters|search) is led by node-[bc] now, after (\d+) ms$", done.output, re.MULTILINE)
    book.check(section, "handover prints who leads each store", len(took) == 2, done.text)
    book.takes(section, "up to {} on a busy host", max(map(int, took)) / 1_000)
    lead(a, nodes)
    done = handed_over(book, section, nodes, "lockstep cluster handover --data data/node-a counters --to node-b")
    book.check(section, "the named node leads that store alone",
               [leader(nodes, store=store) for store in ("counters", "search")] == [b, a], done.text)
    section.says("The old primary goes on as a standby and stays a member.")
    settle(nodes)
    refused = a.root(f"sudo -u lockstep lockstep cluster handover --data {DATA} search --to node-z")
    book.check(section, "nobody leads who is no member", refused.status == book.status("refused or failed"),
               refused.text)
    lead(a, nodes)
    section.says("It gives posts of this node to members that lead at least two stores fewer. Run it on each host")
    balance = "lockstep cluster balance"
    for host in nodes:
        done = handed_over(book, section, nodes, balance) if host is a else book.run(host, section, balance, **HERE)
        book.check(section, "balance gives one of two posts away, once", ("is led by" in done.output) == (host is a),
                   f"{host.letter}: {done.text}")
    for beginning in ("lockstep status --data", "lockstep cluster status --data"):
        book.quoted(b, section, beginning, **HERE)
    settle(nodes)


def lost_host(book, a, b, c, d):
    """A host is lost for good at the minimum: it is removed, the minimum is lowered, and raised when it may be."""
    section, nodes = book.section(FAILOVER, "A host is lost for good"), (a, b, c)
    last = int(count(d).output)
    # The unit of the node that was killed does not start it again.
    b.must(f"systemctl kill --signal KILL {UNIT}; systemctl stop {UNIT}")
    began = time.monotonic()
    d.start(f"lockstep counter add visits --node {NODES} --insecure --timeout 60", "/tmp/waits.log")
    remove = "lockstep cluster remove node-b --data data/node-a"
    section.says("It is refused while etcd lists the node")
    refusal = book.status("refused or failed")
    done = a.root(f"sudo -u lockstep lockstep cluster remove node-b --data {DATA} --minimum 1")
    book.check(section, "a node that is listed is not removed", done.status == refusal and "is there" in done.text,
               f"{done.status}: {done.text}")
    wait_until(lambda: "node-b" not in listed(a), 30, 0.2)
    book.takes(section, "which it does for up to {} after its end", time.monotonic() - began)
    done = book.run(a, section, remove, expect=refusal, **HERE)
    book.check(section, "below the minimum it asks for another one", "--minimum 1" in done.text, done.text)
    book.check(section, "nothing is acknowledged meanwhile", not d.root("cat /tmp/waits.log").output.strip().isdigit())
    done = book.run(a, section, f"{remove} --minimum 1", **HERE)
    began = time.monotonic()
    section.says("It prints the set that is left")
    book.check(section, "it prints the set that is left",
               "node-b left the set of counters: node-a, minimum 1" in done.output, done.text)
    wait_until(lambda: d.root("cat /tmp/waits.log").output.strip().endswith(str(last + 1)), 20, 0.1)
    book.takes(section, "goes on within about {}.", time.monotonic() - began)
    raised_minimum(book, a, b, c)


def raised_minimum(book, a, b, c):
    """The minimum, when there are fewer members than it, and more."""
    section = book.section(FAILOVER, "How many must have what is acknowledged")
    section.says("A higher minimum is refused while fewer members are there")
    done = a.root(f"sudo -u lockstep lockstep cluster minimum 2 --data {DATA}")
    book.check(section, "a minimum of more than there are is refused", done.status == book.status("refused or failed"),
               f"{done.status}: {done.text}")
    for host in (b, c):
        start(host)
    settle((a, b, c))
    done = book.run(a, section, "lockstep cluster minimum 2", **HERE)
    section.says("prints the set")
    book.check(section, "it prints the set",
               "the minimum of counters is 2 now, of node-a, node-b, node-c" in done.output, done.text)
    done = book.run(a, section, "lockstep cluster minimum 1", **HERE)
    book.check(section, "a lower one is taken, of the named store",
               [record(a, store)["minimum"] for store in ("counters", "search")] == [1, 2], done.text)
    a.must(f"sudo -u lockstep lockstep cluster minimum 2 --data {DATA}")


def binding(book, section, nodes, *more):
    """The host on which the stores can be bound again: elsewhere the command says why not. It does nothing yet."""
    def is_told(host):
        done = host.root(" ".join((REBIND, *more)))
        if done.status == book.status("confirmation"):
            return True
        book.check(section, "where it is refused it says what to do",
                   re.search("run this (on that host|again)|try again", done.text), f"{done.status}: {done.text}")
        return False

    found = []
    if not wait_until(lambda: found.extend([host for host in nodes if is_told(host)][:1]) or found, 20, 0.5):
        raise Broken(f"the stores can be bound nowhere: {nodes[0].root(' '.join((REBIND, *more))).text}")
    return found[0]


def told(book, host, kind):
    """Runs the table's command when nodes have told etcd of an alarm."""
    wait_until(lambda: kind in host.root(CLUSTER).output, 10, 0.2)
    return book.quoted(host, book.section(PAGE, WRONG), CLUSTER)


def set_back(book, a, b, c, d):
    """ARBITER_SET_BACK: the copy of etcd that is restored is older than the handover from one node to another."""
    alarm, section, nodes = book.section(PAGE, "ARBITER_SET_BACK"), book.section(FAILOVER, LOST), (a, b, c)
    lead(a, nodes)
    etcd.keep(a)
    lead(b, nodes)
    last, known = int(count(d).output), record(a)
    etcd.set_back(nodes)
    section.says("Leave the data nodes running")
    section.says("says so at the standbys within some 10 s")
    for standby in (a, c):
        alarmed(book, standby, alarm.title, 40)
    section.says("and goes on acknowledging: do not stop it")
    book.check(section, "the primary goes on", count(d).output.strip() == str(last + 1))
    host = binding(book, section, nodes)
    book.check(section, "the stores are bound where they are led", host is b, host.letter)
    book.check(alarm, "cluster status shows it", alarm.title in told(book, a, alarm.title).output)
    section.says("`cluster minimum`, `remove` and `promote` are refused meanwhile")
    for words in ("minimum 1", "remove node-z", "promote --accept-loss"):
        done = a.root(f"sudo -u lockstep lockstep cluster {words} --data {DATA}")
        book.check(section, f"{words} is refused", done.status == book.status("refused or failed")
                   and "cluster rebind" in done.text, f"{done.status}: {done.text}")
    section.says("Without `--yes` the command only says what it would do, and ends with 64")
    book.run(host, section, "lockstep cluster rebind --data data/node-a", expect=64, **HERE)
    done = book.run(host, section, "lockstep cluster rebind --data data/node-a --yes", **HERE)
    section.says("It prints the epoch and the minimum")
    epoch = re.search(rf"^node-{host.letter} is the primary of counters in epoch (\d+); minimum 2$", done.output,
                      re.MULTILINE)
    book.check(section, "it prints the epoch and the minimum", epoch, done.text)
    settle(nodes)
    section.says("goes on from a multiple of 2^40, and the epoch goes up by about 1,000")
    found = record(a)
    book.check(section, "the record is far beyond", found["number"] // AGAIN > known["number"] // AGAIN
               and 900 < int(epoch[1]) - known["epoch"] < 1_100, f"{known} {found}")
    book.check(section, "nothing that was acknowledged is lost", count(d).output.strip() == str(last + 2))
    ended(book, alarm, nodes)


def missing(book, a, b, c, d):
    """RECORD_MISSING: the key of a record is deleted; the store is bound again."""
    alarm, section, nodes = book.section(PAGE, "RECORD_MISSING"), book.section(FAILOVER, LOST), (a, b, c)
    lead(a, nodes)
    last = int(count(d).output)
    done = etcd.control(a, f"del /lockstep/{book.rules['CLUSTER_ID']}/stores/counters")
    book.check(alarm, "the record is gone", done.output.strip() == "1", done.text)
    for standby in nodes:
        if standby is not a:
            alarmed(book, standby, alarm.title, 40)
    host = binding(book, section, nodes)
    done = told(book, a, alarm.title)
    book.check(alarm, "cluster status shows it", re.search("^counters .*no record$", done.output, re.MULTILINE)
               and alarm.title in done.output, done.text)
    again = a.root(f"sudo -u lockstep lockstep cluster create --data {DATA}")
    book.check(alarm, "no new record is made of a store that had one", again.status == book.status("refused or failed"),
               f"{again.status}: {again.text}")
    done = host.root(f"{REBIND} --yes")
    book.check(section, "the store is bound again, and no other",
               done.status == 0 and "of counters in epoch" in done.output and "search: etcd shows all" in done.output,
               f"{done.status}: {done.text}")
    settle(nodes)
    book.check(section, "nothing that was acknowledged is lost", count(d).output.strip() == str(last + 1))
    ended(book, alarm, nodes)


def anew(book, host):
    """A data node's folder is made anew with the same name."""
    section = book.section(FAILOVER, "A data node's disk or journal is lost")
    rules = {"node-b --cluster": f"node-{host.letter} --cluster", **HERE}
    host.must(f"rm -rf {DATA}-before")
    for beginning in ("mv ", "lockstep init"):
        book.run(host, section, beginning, **rules)
    book.run(host, section, "lockstep serve", **HERE)
    return section


def gone(book, a, b, c, d):
    """All members are gone for good: the node that is left is promoted, and the others are made anew."""
    section, nodes = book.section(FAILOVER, "All members of the set are gone"), (a, b, c)
    stop(c)
    last = int(count(d).output)
    for host in (a, b):
        stop(host)
    start(c)
    if not wait_until(lambda: listed(c) == {"node-c"}, 30, 0.2):
        raise Broken(f"others are listed: {listed(c)}")
    promote = "lockstep cluster promote --data data/node-c"
    section.says("Without `--accept-loss` it changes nothing")
    section.says("and ends with 64")
    book.run(c, section, promote, expect=64, **HERE)
    done = book.run(c, section, f"{promote} --accept-loss", **HERE)
    book.check(section, "it leads alone", "node-c is the primary of counters in epoch" in done.output, done.text)
    section.says("the record says until the next failover that something may be lost")
    book.check(section, "the record says so", record(c)["isUnclean"], record(c))
    done = count(d)
    book.check(section, "what only the others had is lost", done.output.strip() == str(last), done.text)
    section.says("Do not start the folders of the lost nodes again")
    halted(book, b, c)
    for host in (a, b):
        anew(book, host)
    settle(nodes)
    c.must(f"sudo -u lockstep lockstep cluster minimum 2 --data {DATA}")
    book.check(section, "the nodes that were made anew have it all", count(d).output.strip() == str(last + 1))


def halted(book, host, ask):
    """A node that knows more than its primary ends, whenever it is started."""
    section = book.section(FAILOVER, "A data node halts: something acknowledged is not in its primary's log")
    start(host)
    book.check(section, "its log says so", wait_until(
        lambda: "is not in its primary's log" in unit_log(host, UNIT), 20, 0.2), unit_log(host, UNIT))
    shown = book.section(FAILOVER, "Operating a cluster of data nodes")
    shown.says("and for some seconds why a node has halted")
    book.check(shown, "cluster status says why it has halted", wait_until(
        lambda: f"node-{host.letter} has halted" in ask.root(CLUSTER).output, 10, 0.2), ask.root(CLUSTER).text)
    stop(host)


def restored(book, a, b, c, d):
    """A backup takes the place of `init`."""
    section = book.section(FAILOVER, "A data node's disk or journal is lost")
    b.must("install -d -o lockstep -g lockstep -m 700 /backup && "
           f"sudo -u lockstep lockstep backup --data {DATA} --to /backup/node-b.backup")
    last = int(count(d).output)
    stop(b)
    b.must(f"mv {DATA} {DATA}-restored")
    restore = "lockstep restore --from node-b.backup"
    section.says("`restore` refuses a data node's backup without `--etcd`.")
    done = b.root(f"sudo -u lockstep lockstep restore --from /backup/node-b.backup --data {DATA}")
    book.check(section, "a data node's backup is refused without --etcd", done.status not in (0, 124), done.text)
    book.run(b, section, restore, **{"node-b.backup": "/backup/node-b.backup", **HERE})
    book.quoted(b, book.section(FAILOVER, "Operating a cluster of data nodes"), f"sudo systemctl start {UNIT}")
    settle((a, b, c))
    book.check(section, "it is a member again", count(d, nodes="tcp://10.0.0.2:7400").output.strip() == str(last + 1))


def lost_etcd(book, a, b, c, d):
    """etcd comes back empty, at another address."""
    section, nodes = book.section(FAILOVER, LOST), (a, b, c)
    lead(a, nodes)
    last = int(count(d).output)
    etcd.stop(nodes)
    etcd.configure(d, (d,), worst.QUOTA)
    etcd.start((d,))
    section.says("say so in the folder of every data node, and restart the nodes one after the other, the primary last")
    for host in (b, c, a):
        done = book.run(host, section, "lockstep cluster etcd", **HERE)
        book.check(section, "the folder notes it", "goes by it from its next start on" in done.output, done.text)
        host.must(f"systemctl restart {UNIT}")
    section.says("see that all data nodes are listed (`cluster members`), and say the minimum with `--minimum`")
    book.check(section, "they list themselves", wait_until(lambda: len(listed(a)) == 3, 30, 0.2), listed(a))
    host = binding(book, section, nodes, "--minimum 2")
    asked = host.root(REBIND)
    book.check(section, "the minimum is to be said", asked.status == 64 and "say it with --minimum" in asked.text,
               f"{asked.status}: {asked.text}")
    done = host.root(f"{REBIND} --minimum 2 --yes")
    book.check(section, "the stores are bound", done.status == 0, f"{done.status}: {done.text}")
    settle(nodes)
    book.check(section, "nothing that was acknowledged is lost", count(d).output.strip() == str(last + 1))


def alone(book, a, b, c, d):
    """The data nodes become one primary, which is adopted again by the first etcd, where its old records are."""
    section, nodes = book.section(FAILOVER, "From one primary to several data nodes, and back"), (a, b, c)
    last = int(count(d).output)
    lead(a, nodes)
    section.says("stop all data nodes, the one that is to stay last")
    for host in (c, b, a):
        stop(host)
    done = book.run(a, section, "lockstep cluster leave", **HERE)
    book.check(section, "the folder is a primary's", "is a primary's folder now" in done.output, done.text)
    section.says("a data node's folder is `/var/lib/lockstep/data`, a primary's `/var/lib/lockstep/primary`")
    a.must(f"mv {DATA} {PRIMARY}")
    book.run(a, section, "lockstep serve --data data/node-a",
             **{**HERE, "lockstep serve": "sudo systemctl start lockstep-primary #"})
    await_phase(a, "admitting")
    book.check(section, "one primary goes on", count(d, nodes=NODE).output.strip() == str(last + 1))
    a.must("systemctl stop lockstep-primary")
    etcd.start(nodes)
    rules = {**HERE, "data/primary": PRIMARY}
    done = book.run(a, section, "lockstep cluster adopt", expect=book.status("refused or failed"), **rules)
    section.says("It is refused if etcd has records or channels of the stores already")
    done = book.run(a, section, "ETCDCTL_API=3 etcdctl")
    book.check(section, "the keys of the cluster are deleted", int(done.output) > 2, done.text)
    book.run(a, section, "lockstep cluster adopt", **rules)
    a.must(f"mv {PRIMARY} {DATA}")
    book.run(a, section, "lockstep serve --data data/primary", **HERE)
    section.says("With `--minimum 1` the primary serves at once")
    book.check(section, "all of it counts as acknowledged", count(d).output.strip() == str(last + 2))
    b.must(f"rm -rf {DATA}-before")
    anew(book, b)
    book.quoted(b, section, "lockstep status --data data/node-b", **HERE)
    section.says("It is listed about when")
    wait_until(lambda: all("node-b" in str(record(a, store).get("inSync")) for store in ("counters", "search")),
               30, 0.2)
    for beginning in ("lockstep cluster status", "lockstep cluster minimum 2"):
        done = book.run(a, section, beginning, **{**HERE, "data/primary": DATA})
    book.check(section, "the minimum is raised", record(a)["minimum"] == 2, done.text)
