"""The worst of data nodes: an etcd that is full, and all data nodes lost at once, with etcd and without."""
import json

from namespaces import wait_until

from . import etcd
from .data import DATA, FAILOVER, HERE, UNIT, count, lead, listed, raised, settle
from .operating import PAGE
from .source import Broken

# The etcd that has come back at another address, and how much it may hold.
ADDRESS = "http://10.0.0.4:2379"
QUOTA = "ETCD_QUOTA_BACKEND_BYTES=8000000\n"
ASK = f"ETCDCTL_API=3 etcdctl --endpoints {ADDRESS} "


def full(book, a, b, c, d):
    """ARBITER_AWAY of an etcd that is read and at its quota: a member is gone, and cannot leave the set."""
    section, nodes = book.section(PAGE, "ARBITER_AWAY"), (a, b, c)
    lead(a, nodes)
    last = int(count(d).output)
    text = section.says("database space exceeded")
    # One key again and again: it is the history that fills etcd.
    filled = d.root(f"for i in $(seq 20); do head -c 1000000 /dev/zero | tr '\\0' x | {ASK} put fill || exit 1; done")
    book.check(section, "etcd is at its quota", filled.status == 1 and text in filled.text, filled.text)
    c.must(f"systemctl kill --signal KILL {UNIT}; systemctl stop {UNIT}")

    def is_told():
        return any("taken no write" in alarm for alarm in raised(a))

    book.check(section, "an etcd that takes no writes raises the alarm", wait_until(is_told, 30, 0.2), raised(a))
    book.shows(section, "ARBITER_AWAY: the arbiter answers", "\n".join(raised(a)), "status")
    book.check(section, "the alarm says why", text in str(raised(a)), raised(a))
    section.says("Writes and reads go on while all members run")
    book.check(section, "what is written waits for the member that cannot leave", count(d, "waits", 2).status != 0)
    rules = {"etcdctl ": ASK}
    done = book.quoted(d, section, "etcdctl alarm list", **rules)
    book.check(section, "alarm list names the member", "NOSPACE" in done.output, done.text)
    now = json.loads(d.must(f"{ASK} endpoint status --write-out json"))[0]["Status"]["header"]["revision"]
    for beginning in ("etcdctl compact", "etcdctl defrag", "etcdctl alarm disarm"):
        book.quoted(d, section, beginning, **{"compact": f"compact {now}", **rules})
    section.says("The alarm ends with the next write")
    book.check(section, "the alarm ends", wait_until(lambda: not is_told(), 20, 0.2), raised(a))
    c.must(f"systemctl start {UNIT}")
    settle(nodes)
    book.check(section, "nothing is lost", count(d).output.strip() == str(last + 1))


def all_lost(book, a, b, c, d):
    """All data nodes are lost: a backup goes on alone, with the records that etcd has, and then with no etcd's."""
    section = book.section(FAILOVER, "A data node's disk or journal is lost")
    last = int(count(d).output)
    b.must(f"sudo -u lockstep lockstep backup --data {DATA} --to /backup/last.backup")
    count(d)
    section.says("restore the newest backup so, start the node, and let it go on alone")
    section.says("What came after the backup is lost.")
    for command, at in (("cluster promote --accept-loss", "http://10.0.0.1:2379"), ("cluster rebind --yes", ADDRESS)):
        if at == ADDRESS:
            d.must(f"systemctl stop etcd && rm -rf {etcd.STORED}")
            etcd.start((d,))
        for host in (a, b, c):
            host.must(f"systemctl stop {UNIT}; rm -rf {DATA}")
        book.run(b, section, "lockstep restore",
                 **{"node-b.backup": "/backup/last.backup", "http://10.0.0.1:2379": at, **HERE})
        b.must(f"systemctl start {UNIT}")
        if not wait_until(lambda: listed(b) == {"node-b"}, 30, 0.2):
            raise Broken(f"not node-b alone is listed: {listed(b)}")
        words = " ".join(command.split()[:2])
        done = book.quoted(b, section, command, **{words: f"sudo -u lockstep lockstep {words} --data {DATA}"})
        settle((b,))
        book.check(section, f"{command} lets it go on with what the backup has",
                   count(d).output.strip() == str(last + 1), done.text)
