"""Sections 1 to 10 of deploy/README.md: from nothing to a cluster of three nodes, looked at, upgraded, backed up."""
import json
import re
import time

from namespaces import wait_until

from .source import Broken

PAGE = "deploy/README.md"
PRIMARY = "/var/lib/lockstep/primary"
REPLICA = "/var/lib/lockstep/replica"
NODE = "tcp://10.0.0.1:7400"
# The backups of a run are of one day, which the shell says.
TODAY = {"DATE": "$(date +%F)"}


def folder(host):
    return REPLICA if host.root(f"test -e {REPLICA}/node.json").status == 0 else PRIMARY


def stores(host, data=None):
    """The stores of a host's node as `status --json` has them; none if it does not answer."""
    asked = host.root(f"timeout 10 sudo -u lockstep lockstep status --data {data or folder(host)} --json")
    found = []
    for line in asked.output.splitlines():
        try:
            status = json.loads(line)
        except ValueError:
            continue
        for entry in status if isinstance(status, list) else [status]:
            found += entry.get("stores", [])
    return found


def phases(host):
    return sorted({store["phase"] for store in stores(host)})


def alarms(host):
    return " | ".join(alarm for store in stores(host) for alarm in store["alarms"])


def unit_log(host, unit, lines=40):
    # What a unit has just written is taken first.
    return host.root(f"journalctl --sync; journalctl -u {unit} -n {lines} --no-pager -o cat").output


def logged(host, unit, text):
    """When a unit's log had a line with this text the last time, in seconds since 1970; 0 if it had none."""
    lines = host.root(
        f"journalctl --sync; journalctl -u {unit} -n 300 --no-pager -o short-unix").output.splitlines()
    return max((float(line.split()[0]) for line in lines if text in line), default=0.0)


def await_phase(host, phase, seconds=30):
    if not wait_until(lambda: phases(host) == [phase], seconds, 0.2):
        raise Broken(f"the node of host {host.letter} is {phases(host)}, not {phase}: "
                     + host.root("journalctl -n 8 --no-pager -o cat").output[-600:])


def add(host, name="visits"):
    """Counts one, from a host; its new value."""
    done = host.run(f"lockstep counter add {name} --node {NODE} --insecure --timeout 20")
    if done.status != 0:
        raise Broken(f"counter add ended with {done.status}: {done.text}")
    return int(done.output.split()[-1])


def value(host, node=NODE, name="visits"):
    done = host.run(f"lockstep counter get {name} --node {node} --insecure --timeout 20")
    found = re.search(r"^(\d+)$", done.output.strip(), re.MULTILINE)
    return int(found[1]) if done.status == 0 and found else None


def install(book, host):
    """Section 2, on a host, without the package."""
    section = book.section(PAGE, "By hand")
    for beginning in ("sudo install -m 755", "lockstep --version", "sudo useradd", "sudo install -d -o",
                      "sudo install -d -m 755"):
        done = book.run(host, section, beginning)
        if beginning == "lockstep --version":
            book.check(section, "the program runs on each host", done.output.startswith("lockstep "), done.text)


def primary(book, host):
    """Section 3."""
    section = book.section(PAGE, "3. The primary")
    section.says("`init` prints the cluster's ID")
    done = book.run(host, section, "sudo -u lockstep lockstep init")
    found = re.search(r"^cluster ([0-9a-f]{32})$", done.output, re.MULTILINE)
    book.check(section, "init prints the cluster's ID", found, done.text)
    book.rules["CLUSTER_ID"] = found[1]
    identity(book, host, PRIMARY)
    first, last = section.files
    host.must(f"printf '%s' '{first[1]}' >{first[0]}")
    for beginning in ("sudo cp deploy/systemd", "sudo systemctl daemon-reload", "sudo systemctl enable"):
        book.run(host, section, beginning)
    done = book.run(host, section, "sudo -u lockstep lockstep status")
    section.says("The phase should be `admitting`, of both stores: the counters, and the searches")
    book.check(section, "the phase is admitting, of both stores",
               len(re.findall(r"(counters|search)\s+admitting", done.output)) == 2, done.text)
    book.check(section, "the unit's files are as systemd wants them",
               not host.root("SYSTEMD_LOG_LEVEL=warning systemd-analyze verify "
                             "/etc/systemd/system/lockstep-*.service").text)
    ports = book.quoted(host, book.section(PAGE, "1. Before you begin"), "sysctl").output.split("=")[1].split()
    book.check(section, "the ports lie below those of outgoing connections", int(ports[0]) > 7_403, ports)
    host.must("mkdir -p /usr/share/doc/lspages && echo 'a licence of its own' >/usr/share/doc/lspages/a.txt")
    host.must("find /usr/share/doc -mindepth 1 -maxdepth 1 ! -name lspages -exec rm -rf {} +")
    book.run(host, section, "sudo -u lockstep lockstep search index")
    name = last[1].split("=")[0]
    host.must(f"sed -i '/^{name}=/d' {last[0]} && printf '%s' '{last[1]}' >>{last[0]}")
    book.run(host, section, "sudo systemctl restart lockstep-primary")
    book.run(host, section, "sudo -u lockstep lockstep status")
    found = book.run(host, section, "lockstep search query licence")
    book.check(section, "a search finds the text", "a.txt" in found.output, found.text)
    wrong = host.run(f"sudo -u lockstep lockstep init --data {PRIMARY} --node node-z")
    book.check(section, "init does not touch a folder that is there", wrong.status == book.status("refused or failed"))
    missing = host.root("sudo -u lockstep lockstep serve --data /var/lib/lockstep/wrong --listen tcp://127.0.0.1:7500")
    section.says("so a wrong path is an error and not an empty store")
    book.check(section, "a wrong path is an error", missing.status not in (0, 124), missing.text)


def identity(book, host, data):
    """Section 4."""
    section = book.section(PAGE, "4. Find the cluster's ID")
    section.says("It stands in the folder of each node, under `cluster`.")
    shown = book.run(host, section, f"sudo cat {data}/node.json")
    book.check(section, "the ID stands in the folder of each node, under `cluster`",
               json.loads(shown.output)["cluster"] == book.rules["CLUSTER_ID"], shown.output)


def replica(book, host):
    """Section 5, on a host."""
    section = book.section(PAGE, "5. Each replica")
    own = {"node-b": f"node-{host.letter}", "10.0.0.2": host.address}
    done = book.run(host, section, "sudo -u lockstep lockstep init", **own)
    book.check(section, "the replica is of the same cluster", book.rules["CLUSTER_ID"] in done.output, done.text)
    identity(book, host, REPLICA)
    for path, content in section.files:
        host.must(f"printf '%s' '{content.replace('10.0.0.2', host.address)}' >{path}")
    for beginning in ("sudo cp deploy/systemd", "sudo systemctl daemon-reload", "sudo systemctl enable"):
        book.run(host, section, beginning)
    done = book.run(host, section, "sudo -u lockstep lockstep status")
    section.says("The phase should become `live`")
    book.check(section, "the phase is live, of both stores",
               len(re.findall(r"(counters|search)\s+live", done.output)) == 2, done.text)


def late_address(book, host):
    """The end of section 5: a host gets its address after the node was started."""
    section = book.section(PAGE, "5. Each replica")
    section.says("An address that the host gets later, such as a tunnel's, is waited for")
    host.must("systemctl stop lockstep-replica")
    host.ip("address", "del", f"{host.address}/24", "dev", "eth0")
    try:
        host.must("systemctl start lockstep-replica")
        text = section.says("waiting for the address to listen at")
        book.check(section, "the log says that the address is waited for",
                   wait_until(lambda: text in unit_log(host, "lockstep-replica"), 20),
                   unit_log(host, "lockstep-replica"))
        restarts = host.must("systemctl show -p NRestarts -p ActiveState lockstep-replica")
        book.check(section, "the unit is active", "NRestarts=0" in restarts and "ActiveState=active" in restarts, restarts)
    finally:
        began = time.time()
        host.ip("address", "add", f"{host.address}/24", "dev", "eth0")
    await_phase(host, "live", 15)
    book.takes(section, "starts within {} of the address", logged(host, "lockstep-replica", "listening") - began)


def look(book, a, b):
    """Sections 6 and 7."""
    section = book.section(PAGE, "6. Look at it")
    done = book.run(a, section, "sudo systemctl status")
    book.check(section, "the unit is active (running)", "active (running)" in done.output, done.text)
    book.run(a, section, "sudo journalctl")
    book.quoted(a, book.section(PAGE, "Log lines"), "sudo journalctl")
    book.quoted(a, book.section(PAGE, "11. When something is wrong"), "lockstep --version")
    listed = {word for row in book.section(PAGE, "Phases").table() for word in row[0].split(", ")}
    table = book.run(a, section, "sudo -u lockstep lockstep status --data /var/lib/lockstep/primary")
    rows = [line for line in table.output.splitlines() if line.startswith("node-a")]
    book.check(section, "one row a store", len(rows) == 2, table.text)
    book.check(section, "its phases are in the table",
               {*phases(a), *phases(b)} <= listed, f"{phases(a)} {phases(b)} not in {listed}")
    watched = book.run(a, section, "sudo -u lockstep lockstep status --data /var/lib/lockstep/primary --watch", expect=124,
                       seconds=15)
    book.check(section, "--watch prints again each second", watched.output.count("NODE") >= 2, watched.text)
    done = book.run(a, section, "sudo -u lockstep lockstep status --data /var/lib/lockstep/primary --json")
    monitor(book, a, b)
    before = value(a) or 0
    done = book.run(a, section, "lockstep counter add")
    book.check(section, "add prints the value", done.output.strip() == str(before + 1), done.text)
    done = book.run(b, section, "lockstep counter get")
    book.check(section, "get prints the value, on any host", done.output.strip() == str(before + 1), done.text)
    done = book.run(a, section, "lockstep counter list")
    book.check(section, "list prints the counters", "visits" in done.output, done.text)
    gone = a.run("lockstep counter get visits --node tcp://10.0.0.9:7400 --insecure --timeout 2")
    book.check(section, "a node that cannot be reached", gone.status == book.status("cannot be reached"), gone.text)
    silent(book, section, a)
    wrong = a.run("lockstep counter --no-such-option")
    book.check(section, "wrong usage", wrong.status == book.status("wrong usage"), wrong.text)
    said = book.section(PAGE, "12. Command line")
    said.says("Of a command line that cannot be read there are three or four lines, which begin with `Error:`")
    book.check(said, "wrong usage begins with Error", wrong.error.startswith("Error: ")
               and wrong.error.strip().count("\n") in (2, 3), wrong.text)


def monitor(book, a, b):
    """Section 7."""
    section = book.section(PAGE, "7. Monitoring")
    for host, unit, data in ((a, "lockstep-primary", PRIMARY), (b, "lockstep-replica", REPLICA)):
        done = book.run(host, section, f"sudo -u lockstep lockstep status --data {data} --json")
        of_role = ("lostReplicas", "silentSeconds") if host is a else ("lag",)
        for field in ("phase", "alarms", "mark", "digest", "freeBytes", "counters", *of_role):
            section.says(field)
            book.check(section, f"--json has {field}", f'"{field}"' in done.output, done.text)
        done = book.run(host, section, f"sudo systemctl is-active {unit}")
        book.check(section, "a unit that runs is active", done.output.strip() == "active", done.text)


def silent(book, section, host):
    """What `status` calls a node that does not answer."""
    section.says("A node that does not answer is called what it is: `not running`, `does not answer`")
    look_at = f"lockstep status --data {PRIMARY}"
    done = host.run(look_at)
    book.check(section, "another user has no permission",
               "no permission" in done.text and done.status == book.status("no permission"), f"{done.status}: {done.text}")
    done = host.root("sudo -u lockstep lockstep status --data /var/lib/lockstep/nowhere")
    book.check(section, "a folder that is not there is wrong usage", done.status == book.status("a folder that is not there"),
               f"{done.status}: {done.text}")
    host.must("systemctl kill --signal STOP lockstep-primary")
    # Ends with 1 when all its threads stand still, which is later than the signal.
    runs = "sed 's/.*) //' /proc/$(systemctl show -p MainPID --value lockstep-primary)/task/*/stat | grep -q '^[^T]'"
    try:
        wait_until(lambda: host.root(runs).status == 1, 30, 0.1)
        done = host.root(f"sudo -u lockstep {look_at}")
    finally:
        host.must("systemctl kill --signal CONT lockstep-primary")
    book.check(section, "a node that stands still does not answer",
               "does not answer" in done.text and done.status == book.status("does not answer"), f"{done.status}: {done.text}")
    await_phase(host, "admitting")


def upgrade(book, a, b, c):
    """Section 8: stop, start, upgrade with a program that is as new."""
    section = book.section(PAGE, "8. Stop, start, upgrade")
    book.run(b, section, "sudo systemctl stop")
    done = b.root("systemctl is-active lockstep-replica")
    book.check(section, "stop stops the node", done.output.strip() == "inactive", done.text)
    done = b.root(f"sudo -u lockstep lockstep status --data {REPLICA}")
    book.check(section, "it is not running", "not running" in done.text and done.status == book.status("does not run"),
               f"{done.status}: {done.text}")
    book.run(b, section, "sudo systemctl start")
    await_phase(b, "live")
    before = add(a)
    for host in (a, b, c):
        book.run(host, section, "sudo install -m 755")
    for host in (b, c):
        book.run(host, section, "sudo systemctl restart lockstep-replica")
        done = book.run(host, section, "sudo -u lockstep lockstep status --data /var/lib/lockstep/replica")
        book.check(section, "each until it is live", "live" in done.output, done.text)
    book.run(a, section, "sudo systemctl restart lockstep-primary")
    book.run(a, section, "sudo -u lockstep lockstep status --data /var/lib/lockstep/primary")
    book.check(section, "the count goes on", add(b) == before + 1)
    a.must("systemctl kill --signal KILL lockstep-primary")
    section.says("SIGKILL loses nothing that was acknowledged")
    book.check(section, "SIGKILL loses nothing that was acknowledged", add(b) == before + 2)


def audience(book, a, b):
    """Section 8: a primary that starts hears its replicas, one of which cannot be reached."""
    section = book.section(PAGE, "8. Stop, start, upgrade")
    unit = "lockstep-primary"
    b.ip("link", "set", "eth0", "down")
    try:
        a.must(f"systemctl restart {unit}")
        await_phase(a, "admitting", 60)
    finally:
        b.ip("link", "set", "eth0", "up")
    waited = logged(a, unit, "admits without having heard of all replicas") - logged(a, unit, "waits for its replicas")
    book.takes(section, "and {} at most where one of them does not", waited, is_exact=True)
    await_phase(b, "live", 60)
