"""Section 13 of deploy/README.md: a primary, two replicas and a client with keys, from nothing, and other keys for them."""
import json
import re
import time

from namespaces import wait_until

from .operating import PAGE, PRIMARY, REPLICA, await_phase, logged, unit_log

HOME = "/var/lib/lockstep"
CLIENT = "--node tcp://10.0.0.1:7400 --keys web-1.key --nodes nodes.json"
MOST = 12


def public_key(done):
    """The public key in what a command has printed."""
    return re.search(r"^lockstep-public \S+ \S+ (\S{40})$", done.output, re.MULTILINE)[1]


def nodes(book, section, a, d):
    """The keys of all, the list, and the file for the client."""
    book.rules["PUBLIC_KEY"] = public_key(book.run(d, section, "lockstep keys new"))
    secret = d.must("stat -c '%a %U' /home/op/lockstep/web-1.key").split()
    section.says("The secret stays there")
    book.check(section, "the secret is its owner's alone", secret == ["600", "op"], secret)
    first = book.run(a, section, f"sudo -u lockstep lockstep init --data {PRIMARY}")
    book.rules["CLUSTER_ID"] = re.search(r"^cluster ([0-9a-f]{32})$", first.output, re.MULTILINE)[1]
    for letter in "bc":
        book.run(a, section, f"sudo -u lockstep lockstep init --data {HOME}/for-{letter}")
    book.run(a, section, "sudo -u lockstep lockstep keys allow")
    book.run(a, section, "sudo -u lockstep lockstep keys export", to=d)


def start(book, section, a, b, c):
    """The files of the units, and the units."""
    for path, content in section.files:
        for host in (a,) if path.endswith("primary.env") else (b, c):
            host.must(f"printf '%s' '{content.replace('10.0.0.2', host.address)}' >{path}")
    for host in (a, b, c):
        host.must("cp deploy/systemd/lockstep-*.service /etc/systemd/system/ && systemctl daemon-reload")
    book.run(a, section, "sudo systemctl enable --now lockstep-primary")
    await_phase(a, "admitting")
    for host in (b, c):
        book.run(host, section, "sudo systemctl enable --now lockstep-replica")
        await_phase(host, "live")


def cluster(book, a, b, c, d):
    """All of the section; the hosts are as before afterwards."""
    section = book.section(PAGE, "13. With keys")
    section.says("Twelve commands")
    section.says("on four hosts")
    book.check(section, f"at most {MOST} commands", len(section.commands) <= MOST, len(section.commands))
    try:
        nodes(book, section, a, d)
        for host in (b, c):
            book.run(a, section, "sudo tar", to=host)
        section.says("Then remove `for-b` and `for-c` here")
        a.must(f"rm -r {HOME}/for-b {HOME}/for-c")
        start(book, section, a, b, c)
        done = book.run(d, section, "lockstep counter add")
        book.check(section, "the client counts", done.output.strip() == "1", done.text)
        refused(book, section, a, d)
        limited(book, a, d)
        administered(book, a, d)
        client_keys(book, a, b, c, d)
        node_keys(book, a, b, c, d)
        revoked(book, a, d)
        moved(book, b, c, d)
    finally:
        book.rules.pop("PUBLIC_KEY", None)
        for host in (a, b, c):
            host.root("systemctl disable --now lockstep-primary lockstep-replica")
            host.must(f"rm -rf {HOME}/* /etc/systemd/system/lockstep-*.service && systemctl daemon-reload")


def list_taken(host):
    """When the primary of a host took another access list the last time."""
    return logged(host, "lockstep-primary", "the access list has changed")


def refused(book, section, a, d):
    """Nobody else is served, and no secret is shown."""
    plain = d.run("lockstep counter get visits --node tcp://10.0.0.1:7400 --insecure --timeout 2")
    section.says("If the node does not let you in, the command names the key that is missing and ends with 69.")
    book.check(section, "nobody without keys is served", plain.status == book.status("cannot be reached"), plain.text)
    d.must("runuser -u op -- lockstep keys new web-2")
    unknown = d.run(f"lockstep counter get visits {CLIENT.replace('web-1', 'web-2')} --timeout 2")
    book.check(section, "a key that is not in the list is not served",
               unknown.status == book.status("cannot be reached") and "does not let the key" in unknown.text,
               f"{unknown.status}: {unknown.text}")
    section.says("If it lets you in and you may not do this, the command says so and ends with 1.")
    before = list_taken(a)
    a.must(f"sudo -u lockstep lockstep keys allow web-2 --key '{public_key(d.run('lockstep keys show web-2.key'))}' "
           f"--role reader --access {HOME}/access.json")
    wait_until(lambda: list_taken(a) > before, 20, 0.2)
    denied = d.run(f"lockstep counter add visits {CLIENT.replace('web-1', 'web-2')} --timeout 5")
    book.check(section, "a reader is told that it may not add", denied.status == book.status("refused or failed"),
               f"{denied.status}: {denied.text}")
    section.says("The node's log says who was refused, and why.")
    log = unit_log(a, "lockstep-primary")
    book.check(section, "the log says who was refused", "denied" in log or "handshakes failed" in log, log)
    shown = book.quoted(a, book.section(PAGE, "11. When something is wrong"), "sudo -u lockstep lockstep keys show")
    book.check(section, "keys show prints who is let in", "web-1" in shown.output, shown.text)
    secret = a.must(f"sed -n 's/^secret //p' {PRIMARY}/node.key").strip()
    for where in ("journalctl -o cat --no-pager", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' ' '",
                  f"sudo -u lockstep lockstep status --data {PRIMARY} --json"):
        seen = a.root(where).output
        book.check(section, "the secret is nowhere but in its file", secret and secret not in seen, where)


def limited(book, a, d):
    """A name that may add, and not set."""
    section = book.section(PAGE, "Limit what a name may send")
    allow = "sudo -u lockstep lockstep keys allow web-1"
    setting = f"lockstep counter set limited 5 {CLIENT} --timeout 5"
    book.run(a, section, f"{allow} --action")
    section.says("From then on `counter set` of this client is denied and ends with 1, and `counter add` goes on.")
    refusal = book.status("refused or failed")
    wait_until(lambda: d.run(setting).status == refusal, 5, 0.2)
    denied = d.run(setting)
    book.check(section, "a kind that is not allowed is denied",
               denied.status == refusal and "no action of kind set" in denied.text, f"{denied.status}: {denied.text}")
    counts(book, section, d, "the kind that is allowed goes on")
    book.run(a, section, f"{allow} --all-actions")
    section.says("`--all-actions` and `--no-quota` take the limits back")
    book.check(section, "without limits it sets", wait_until(lambda: d.run(setting).status == 0, 5, 0.2))


def administered(book, a, d):
    """Sessions, seen from another host."""
    section = book.section(PAGE, "Administer from another host")
    book.rules["ADMIN_KEY"] = public_key(book.run(d, section, "lockstep keys new"))
    before = list_taken(a)
    book.run(a, section, "sudo -u lockstep lockstep keys allow ops")
    del book.rules["ADMIN_KEY"]
    wait_until(lambda: list_taken(a) > before, 20, 0.2)
    done = book.run(d, section, "lockstep sessions list")
    section.says("The list shows who opened each session with `--json`")
    # The sessions of the replicas are always there.
    book.check(section, "the list names who opened a session", '"sender":"node-b"' in done.output, done.text)
    section.says("the node's log has a line for each such command, with the name")
    log = unit_log(a, "lockstep-primary")
    book.check(section, "the log names who has asked", "administered over the network" in log and "ops" in log, log)


def spread(book, section, source, others, named):
    """Copies the list as the section has it for the host `named`, to that one and to the others."""
    for host in others:
        book.run(source, section, "sudo tar", to=host, **{f"ssh {named.address} ": f"ssh {host.address} "})


def counts(book, section, d, what):
    done = d.run(f"lockstep counter add visits {CLIENT} --timeout 20")
    book.check(section, what, done.status == 0, done.text)


def client_keys(book, a, b, c, d):
    """Other keys for the client, which is served all the time."""
    section = book.section(PAGE, "Give a client new keys")
    old = book.rules["PUBLIC_KEY"]
    book.rules["PUBLIC_KEY"] = public_key(book.run(d, section, "lockstep keys new"))
    book.run(a, section, "sudo -u lockstep lockstep keys allow")
    spread(book, section, a, (b, c), b)
    counts(book, section, d, "the old key is still good")
    book.run(d, section, "lockstep keys rotate")
    a.root("sleep 1")
    book.run(d, section, "lockstep counter add")
    # The rule of the new key would replace a part of the mark of the old one.
    new = book.rules.pop("PUBLIC_KEY")
    book.run(a, section, "sudo -u lockstep lockstep keys revoke", OLD_PUBLIC_KEY=old)
    spread(book, section, a, (b, c), b)
    shown = book.run(a, section, "sudo -u lockstep lockstep keys show")
    book.check(section, "the list has the new key alone", new in shown.output and old not in shown.output, shown.text)
    a.root("sleep 1")
    counts(book, section, d, "the new key is good")


def node_keys(book, a, b, c, d):
    """Other keys for a replica."""
    section = book.section(PAGE, "Give a node new keys")
    rotate = "sudo -u lockstep lockstep keys rotate node-b"
    book.run(b, section, f"{rotate} --begin")
    spread(book, section, b, (a, c), a)
    section.says("export `nodes.json` anew for all clients")
    book.run(a, book.section(PAGE, "13. With keys"), "sudo -u lockstep lockstep keys export", to=d)
    a.root("sleep 1")
    for beginning in (f"{rotate} --use", "sudo systemctl restart", "sudo -u lockstep lockstep status"):
        done = book.run(b, section, beginning)
    book.check(section, "the replica is live with its new key", "live" in done.output, done.text)
    book.run(b, section, f"{rotate} --end")
    spread(book, section, b, (a, c), a)
    a.root("sleep 1")
    counts(book, section, d, "the client goes on")
    done = a.root(f"sudo -u lockstep lockstep status --data {PRIMARY} --wait 10")
    book.check(section, "no node is refused", done.status == 0, done.text)


def revoked(book, a, d):
    """Who is taken out of the list is not served a second later, on the connection that was open."""
    section = book.section(PAGE, "Take a name away")
    d.start(f"lockstep counter watch visits {CLIENT}", "/tmp/watch.log")
    wait_until(lambda: "visits" in d.root("cat /tmp/watch.log").output, 30, 0.2)
    text = "connections were ended: the access list has changed"
    before = logged(a, "lockstep-primary", text)
    book.run(a, section, "sudo -u lockstep lockstep keys revoke")
    began = time.time()
    book.check(section, "an open connection is ended",
               wait_until(lambda: logged(a, "lockstep-primary", text) > before, 10, 0.2), unit_log(a, "lockstep-primary"))
    book.takes(section, "ends the client's connections within {} of the new list",
               max(0, logged(a, "lockstep-primary", text) - began))
    done = d.run(f"lockstep counter add visits {CLIENT} --timeout 2")
    d.root("pkill lockstep")
    book.check(section, "a name that was taken out is not served", done.status not in (0, 64), f"{done.status}: {done.text}")
    book.check(section, "the replicas go on",
               a.root(f"sudo -u lockstep lockstep status --data {PRIMARY} --wait 5").status == 0)


def moved(book, b, c, d):
    """The list and the file for clients, when another node is to listen at a lost primary's address."""
    section = book.section(PAGE, "The primary's host is lost")
    for beginning in ("sudo -u lockstep lockstep keys revoke", "sudo -u lockstep lockstep keys allow"):
        book.run(b, section, beginning)
    section.says("Copy the list to all hosts, and export `nodes.json` anew for all clients")
    book.run(b, section, "sudo tar", to=c)
    # The folder is still a replica's here.
    book.run(b, section, "sudo -u lockstep lockstep keys export", to=d, **{PRIMARY: REPLICA})
    book.check(section, "the list is the same", *same(f"{HOME}/access.json", b, c))
    found = {node["name"]: node["address"] for node in json.loads(d.run("cat nodes.json").output)["entries"]}
    book.check(section, "clients expect the other node at the address",
               found.get("node-b") == "tcp://10.0.0.1:7400" and "node-a" not in found, found)


def same(path, first, second):
    """Whether a file is the same on two hosts, and what it is."""
    texts = [host.must(f"cat {path}") for host in (first, second)]
    return texts[0] == texts[1], texts
