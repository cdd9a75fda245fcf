"""Section 14 of deploy/README.md, and two of the alarms of data nodes, on three hosts that have etcd, too."""
import json
import re
import time

from namespaces import wait_until

from . import etcd
from .operating import PAGE, PRIMARY, REPLICA, await_phase, stores, unit_log, value
from .source import Broken
from .trouble import WRONG

SECTION = "14. Several data nodes (failover)"
FAILOVER = "docs/FAILOVER.md"
LOST = "etcd is lost, or was restored from an old copy"
UNIT, DATA, ASIDE = "lockstep-data", "/var/lib/lockstep/data", "/var/lib/lockstep/aside"
NODES = ",".join(f"tcp://10.0.0.{number}:7400" for number in (1, 2, 3))
CLUSTER = f"sudo -u lockstep lockstep cluster status --data {DATA}"
# What docs/FAILOVER.md says of hosts that are set up as in section 14; the options of `serve` are a remark then.
HERE = {"lockstep serve": f"sudo systemctl start {UNIT} #", "lockstep ": "sudo -u lockstep lockstep ",
        "mv ": "sudo mv ", "data/node-a": DATA, "data/node-b": DATA, "data/node-c": DATA}


# MARK: data nodes

def objects(host, command):
    """The objects that a command of `cluster` prints with `--json`; none if it fails."""
    done = host.root(f"sudo -u lockstep lockstep cluster {command} --data {DATA} --json")
    return [json.loads(line) for line in done.output.splitlines()] if done.status == 0 else []


def listed(host):
    return {node["node"] for node in objects(host, "members") if node["isListed"]}


def record(host, store="counters"):
    return next((found for found in objects(host, "status") if found["store"] == store), {})


def leader(hosts, ask=None, store="counters"):
    """The host whose node etcd names as primary of a store."""
    name = record(ask or hosts[0], store).get("primary")
    return next((host for host in hosts if f"node-{host.letter}" == name), None)


def settle(hosts, ask=None):
    """Waits until these hosts' nodes are listed, are members, and have no alarm."""
    ask, names = ask or hosts[0], {f"node-{host.letter}" for host in hosts}
    if not wait_until(lambda: names <= listed(ask), 30, 0.2):
        raise Broken(f"not all of {sorted(names)} are listed: {listed(ask)}")
    done = ask.root(f"{CLUSTER} --wait 30")
    if done.status != 0:
        raise Broken(f"the data nodes are not well: {done.text}")


def lead(host, hosts):
    """Has a host's node lead both stores; a primary that has just taken over gives nothing away yet."""
    def is_leading():
        others = {leader(hosts, store=store) for store in ("counters", "search")} - {host}
        for other in others - {None}:
            other.root(f"sudo -u lockstep lockstep cluster handover --data {DATA} --to node-{host.letter}")
        return not others

    if not wait_until(is_leading, 20, 0.2):
        raise Broken(f"node-{host.letter} does not lead: {record(hosts[0])}")
    settle(hosts)


def handed_over(book, section, nodes, beginning):
    """Runs a command with which node-a gives posts away; again for a while if nobody has taken one in time."""
    section.says("If nobody takes the post in time, or not the node that was named, the primary goes on, "
                 "the line says so, and the exit status is 1.")
    a, command, end = nodes[0], section.command(beginning), time.monotonic() + 20
    while True:
        done = book.run(a, section, beginning, expect=(0, book.status("refused or failed")), **HERE)
        if done.status == 0:
            return done
        if not re.search("the post of .* stays", done.text) or time.monotonic() > end:
            raise Broken(f"{command.place}: {command.text}\n    ended with {done.status}: {done.text[-500:]}")
        # The same command is the next again.
        command.runs.pop()
        lead(a, nodes)


def count(host, name="visits", seconds=30, nodes=NODES):
    """Counts one, by whichever data node leads; what came of it."""
    return host.run(f"lockstep counter add {name} --node {nodes} --insecure --timeout {seconds}")


def state(host):
    """Whether the unit runs, and how often systemd has started it again."""
    return sorted(host.must(f"systemctl show -p ActiveState -p NRestarts {UNIT}").split())


def raised(host):
    return [alarm for store in stores(host, DATA) for alarm in store["alarms"]]


def alarmed(book, host, kind, seconds=15):
    """An alarm of a data node, with the text that the page gives."""
    section = book.section(PAGE, kind)
    book.check(section, f"the alarm is raised at node-{host.letter}",
               wait_until(lambda: any(alarm.startswith(kind) for alarm in raised(host)), seconds, 0.2),
               f"{raised(host)}\n{unit_log(host, UNIT)}")
    book.shows(section, kind, "\n".join(raised(host)), "status")


def ended(book, section, hosts):
    """All nodes answer, and none has an alarm."""
    def is_over(host):
        found = stores(host, DATA)
        return found and not any(store["alarms"] for store in found)

    book.check(section, "the alarm ends", wait_until(lambda: all(map(is_over, hosts)), 30, 0.2),
               [raised(host) for host in hosts])


# MARK: situations

def made(book, a, b, c, d):
    """Section 14, from nothing; the folders of one primary and its replicas are put aside."""
    section = book.section(PAGE, SECTION)
    for host in (a, b, c):
        host.must("systemctl disable --now lockstep-primary lockstep-replica 2>/dev/null; "
                  f"mkdir -p {ASIDE} && for f in {PRIMARY} {REPLICA}; do [ ! -e $f ] || mv $f {ASIDE}/; done")
        etcd.configure(host, (a, b, c))
    etcd.start((a, b, c))
    done = book.run(a, section, f"sudo -u lockstep lockstep init --data {DATA} --node node-a")
    found = re.search(r"^cluster ([0-9a-f]{32})$", done.output, re.MULTILINE)
    book.check(section, "init prints the cluster's ID", found, done.text)
    book.rules["CLUSTER_ID"] = found[1]
    done = book.run(a, section, "sudo -u lockstep lockstep cluster create")
    book.check(section, "create makes the records of its stores, with the minimum 2",
               len(re.findall("its first primary is node-a, minimum 2$", done.output, re.MULTILINE)) == 2, done.text)
    section.says("and on the third with the name `node-c`")
    for host in (b, c):
        book.run(host, section, f"sudo -u lockstep lockstep init --data {DATA} --node node-b",
                 **{"node-b": f"node-{host.letter}"})
    for host in (a, b, c):
        for path, content in section.files:
            host.must(f"printf '%s' '{content.replace('10.0.0.1', host.address)}' >{path}")
        for beginning in ("sudo cp deploy/systemd", "sudo systemctl daemon-reload", "sudo systemctl enable"):
            book.run(host, section, beginning)
    section.says("When all of them run")
    book.check(section, "all are listed", wait_until(lambda: len(listed(a)) == 3, 30, 0.2), listed(a))
    looked_at(book, section, a, b, c)
    done = book.run(d, section, "lockstep counter add")
    book.check(section, "the first action is counted", done.output.strip() == "1", done.text)
    section.says("Whoever asks a data node that is not the primary is told who is.")
    for host in (b, c):
        done = count(d, nodes=f"tcp://{host.address}:7400")
        book.check(section, "a standby tells who the primary is", done.status == 0, done.text)


def looked_at(book, section, a, b, c):
    """What the commands show of data nodes that all run, and what is not for them."""
    lead(a, (a, b, c))
    done = book.run(b, section, CLUSTER)
    book.check(section, "all three are members of both stores",
               len(re.findall(r"^(counters|search) .* 2 +\d+ +node-a node-b node-c$", done.output, re.MULTILINE)) == 2,
               done.text)
    done = book.run(b, section, "sudo -u lockstep lockstep cluster members")
    book.check(section, "members lists all three", len(re.findall("^node-[abc] +tcp:", done.output, re.MULTILINE)) == 3,
               done.text)
    phases = {word for row in book.section(PAGE, "Phases").table() for word in row[0].split(", ")}
    for host, phase in ((a, "reigning"), (b, "streaming"), (c, "streaming")):
        done = book.run(host, section, f"sudo -u lockstep lockstep status --data {DATA}")
        book.check(section, f"status of node-{host.letter} says {phase} of both stores",
                   done.output.count(f"data node: {phase}") == 2 and phase in phases, done.text)
        book.check(section, "the unit is active, and was not restarted",
                   state(host) == ["ActiveState=active", "NRestarts=0"], state(host))
    book.check(section, "the unit's file is as systemd wants it", not a.root(
        f"SYSTEMD_LOG_LEVEL=warning systemd-analyze verify /etc/systemd/system/{UNIT}.service").text)
    section.says("`promote`, `demote` and `recover` refuse it")
    for words in ("promote --yes", "demote --yes", "recover --from tcp://10.0.0.2:7400"):
        done = a.root(f"sudo -u lockstep lockstep {words} --data {DATA}")
        book.check(section, f"{words} refuses a data node's folder",
                   done.status == book.status("wrong usage") and "is a data node's folder" in done.text,
                   f"{done.status}: {done.text}")


def taken_over(book, a, b, c, d):
    """The primary fails: its process ends, its host is lost, its unit is stopped."""
    section, nodes = book.section(PAGE, SECTION), (a, b, c)
    add, last = "lockstep counter add visits", int(count(d).output)
    first = leader(nodes)
    first.must(f"systemctl kill --signal KILL {UNIT}")
    done = book.run(d, section, add)
    section.says("nothing that was acknowledged is lost")
    book.check(section, "nothing is lost when the process ends", done.output.strip() == str(last + 1), done.text)
    section.says("less if only the process ends")
    book.takes(section, "another host takes its place within {},", done.seconds)
    settle(nodes)
    first = leader(nodes)
    ask = next(host for host in nodes if host is not first)
    before = state(first)
    # The leader of etcd may be on this host: an election of etcd is no part of the time that the page gives.
    etcd.lead_elsewhere(first, nodes)
    first.ip("link", "set", "eth0", "down")
    try:
        done = book.run(d, section, add, **{"--insecure": "--insecure --timeout 30"})
        book.check(section, "nothing is lost when the host is", done.output.strip() == str(last + 2), done.text)
        book.takes(section, "and get their answers from it: {} if the host is lost", done.seconds)
        book.check(section, "another node is the primary", leader(nodes, ask) not in (first, None), record(ask))
    finally:
        first.ip("link", "set", "eth0", "up")
    settle(nodes, ask)
    book.check(section, "the node that lost its post has gone on", state(first) == before, f"{before} {state(first)}")
    first = leader(nodes)
    section.says("`systemctl stop` hands the stores over first")
    first.must(f"systemctl stop {UNIT}")
    done = book.run(d, section, add)
    book.check(section, "callers go on while a host is stopped", done.output.strip() == str(last + 3), done.text)
    ask = next(host for host in nodes if host is not first)
    def others_lead():
        return first not in (leader(nodes, ask), leader(nodes, ask, "search"))

    book.check(section, "another node leads both stores", wait_until(others_lead, 15, 0.2), record(ask))
    first.must(f"systemctl start {UNIT}")
    for beginning in ("lockstep status --data", "lockstep cluster status --data"):
        book.quoted(first, section, beginning, **{"lockstep ": "sudo -u lockstep lockstep "})
    book.check(section, "it is a member again",
               wait_until(lambda: f"node-{first.letter}" in str(record(ask)["inSync"]), 15, 0.2), record(ask))


def insufficient(book, a, b, c, d):
    """INSUFFICIENT_MEMBERS: two of three nodes are stopped, of which the first leaves the set; one is started again."""
    section, nodes = book.section(PAGE, "INSUFFICIENT_MEMBERS"), (a, b, c)
    lead(a, nodes)
    last = int(count(d).output)
    for host in (c, b):
        host.must(f"systemctl stop {UNIT}")
    alarmed(book, a, section.title)
    wait_until(lambda: "node-b" not in listed(a), 30, 0.2)
    done = book.quoted(a, book.section(PAGE, WRONG), "sudo -u lockstep lockstep cluster members")
    book.check(section, "members shows who is missing", re.search("^node-b +not listed", done.output, re.MULTILINE),
               done.text)
    section.says("What is written waits. Reads go on at a primary that was `admitting`")
    book.check(section, "what is written waits", count(d, "waits", 2).status != 0)
    book.check(section, "reads go on", value(d) == last, value(d))
    section.says("Start the nodes that are missing")
    b.must(f"systemctl start {UNIT}")
    section.says("The alarm ends by itself.")
    ended(book, section, (a,))
    settle((a, b))
    done = count(d)
    book.check(section, "nothing is lost", done.output.strip() == str(last + 1), done.text)


def away(book, a, b, c, d):
    """ARBITER_AWAY: etcd stops on all hosts, and is started again."""
    section, lost, nodes = book.section(PAGE, "ARBITER_AWAY"), book.section(FAILOVER, LOST), (a, b, c)
    lead(a, nodes)
    last = int(count(d).output)
    # Its last answer may come before all of it has stopped.
    began = time.monotonic()
    etcd.stop(nodes)
    section.says("Writes and reads go on while all members run")
    done = count(d)
    book.check(section, "writes go on", done.output.strip() == str(last + 1), done.text)
    alarmed(book, a, section.title, 30)
    book.takes(lost, "after {} the alarm ARBITER_AWAY says so", time.monotonic() - began, is_exact=True)
    for host in (b, c):
        alarmed(book, host, section.title)
    lost.says("Nobody can take over, and a handover is refused")
    done = a.root(f"sudo -u lockstep lockstep cluster handover --data {DATA}")
    book.check(lost, "a handover is refused", done.status == book.status("refused or failed"),
               f"{done.status}: {done.text}")
    book.quoted(a, book.section(PAGE, WRONG), CLUSTER, expect=book.status("cannot be reached"))
    done = count(d)
    book.check(section, "writes still go on", done.output.strip() == str(last + 2) and value(d) == last + 2, done.text)
    etcd.start(nodes)
    section.says("The alarm ends with the next answer.")
    ended(book, section, nodes)
    settle(nodes)


def certificates(book, a, b, c, d):
    """Section 14's last part: etcd with certificates, and a data node from nothing that has one."""
    section = book.section(PAGE, "etcd with certificates")
    for host in (a, b, c):
        host.must(f"systemctl stop {UNIT}; rm -rf {DATA}")
    etcd.certify(book, section, d, (a, b, c))
    d.pipe("tar -C etcd-keys -c authority.pem node-a.pem node-a.key", a, "tar -x")
    for beginning in ("sudo install -d", "sudo install -o", "sudo -u lockstep lockstep init"):
        book.run(a, section, beginning)
    a.must(f"sudo -u lockstep lockstep cluster create --data {DATA} --minimum 1 && systemctl start {UNIT}")
    settle((a,))
    book.check(section, "a data node with a certificate serves", count(d).output.strip() == "1", unit_log(a, UNIT))
    section.says("With `https://` both ends show certificates.")
    ask = "ETCDCTL_API=3 etcdctl --endpoints https://10.0.0.1:2379 endpoint health --cacert authority.pem"
    done = a.run(f"{ask} --cert node-a.pem --key node-a.key")
    book.check(section, "who has a certificate is served", done.status == 0, done.text)
    for words, what in ((ask, "has no certificate"), (ask.replace("https", "http"), "speaks plain text")):
        done = a.run(words)
        book.check(section, f"who {what} is refused", done.status == 1, f"{done.status}: {done.text}")


def put_back(book, a, b, c):
    """One primary and its replicas again, as before section 14."""
    for host in (a, b, c):
        host.must(f"systemctl disable --now {UNIT} etcd 2>/dev/null; rm -rf {DATA}* {PRIMARY} {REPLICA} && "
                  f"mv {ASIDE}/* /var/lib/lockstep/")
    for host, role, phase in ((a, "primary", "admitting"), (b, "replica", "live"), (c, "replica", "live")):
        host.must(f"systemctl enable --now lockstep-{role} 2>/dev/null")
        await_phase(host, phase)
    book.rules["CLUSTER_ID"] = json.loads(a.must(f"cat {PRIMARY}/node.json"))["cluster"]
