"""Section 13 of deploy/README.md: a primary, two replicas and a client with keys, from nothing."""
import re
import subprocess

from .operating import PAGE, PRIMARY, REPLICA, await_phase, unit_log

HOME = "/var/lib/lockstep"
CLIENT = f"--keys {HOME}/web-1.key --nodes {HOME}/nodes.json --timeout 20"


def copy(source, target, letter):
    """What the page does with ssh, which the hosts do not have."""
    packed = subprocess.run(source.enter() + ["tar", "-C", HOME, "-c", "access.json", "-C", f"for-{letter}", "replica"],
                            capture_output=True, check=True).stdout
    subprocess.run(target.enter() + ["tar", "-xp", "-C", HOME], input=packed, check=True)


def nodes(book, section, a):
    """The commands of the first host up to the copies."""
    first = book.run(a, section, f"sudo -u lockstep lockstep init --data {PRIMARY}")
    book.rules["CLUSTER_ID"] = re.search(r"^cluster ([0-9a-f]{32})$", first.output, re.MULTILINE)[1]
    for letter in "bc":
        book.run(a, section, f"sudo -u lockstep lockstep init --data {HOME}/for-{letter}")
    for command in ("new", "allow", "export"):
        book.run(a, section, f"sudo -u lockstep lockstep keys {command}")


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


def cluster(book, a, b, c):
    """All of the section; the hosts are as before afterwards."""
    section = book.section(PAGE, "13. With keys")
    typed = [command for command in section.commands]
    book.check(section, "at most twelve commands", len(typed) <= 12, len(typed))
    section.says("Twelve commands")
    try:
        nodes(book, section, a)
        copy(a, b, "b")
        copy(a, c, "c")
        start(book, section, a, b, c)
        done = book.run(a, section, "sudo -u lockstep lockstep counter add")
        book.check(section, "the client counts", done.output.strip() == "1", done.text)
        refused(book, section, a)
        revoked(book, section, a)
    finally:
        for host in (a, b, c):
            host.root("systemctl disable --now lockstep-primary lockstep-replica")
            host.must(f"rm -rf {HOME}/* /etc/systemd/system/lockstep-*.service && systemctl daemon-reload")


def refused(book, section, a):
    """Nobody else is served, and no secret is shown."""
    plain = a.run("lockstep counter get visits --node tcp://10.0.0.1:7400 --insecure --timeout 2")
    book.check(section, "nobody without keys is served", plain.status == book.status("cannot be reached"), plain.text)
    a.must(f"sudo -u lockstep lockstep keys new web-2 --to {HOME}/web-2.key")
    unknown = a.root(f"sudo -u lockstep lockstep counter get visits --node tcp://10.0.0.1:7400 --keys {HOME}/web-2.key "
                     f"--nodes {HOME}/nodes.json --timeout 2")
    book.check(section, "a key that is not in the list is not served", unknown.status not in (0, 64), unknown.text)
    secret = a.must(f"sed -n 's/^secret //p' {PRIMARY}/node.key").strip()
    for where in ("journalctl -o cat --no-pager", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' ' '",
                  f"sudo -u lockstep lockstep status --data {PRIMARY} --json"):
        seen = a.root(where).output
        book.check(section, "the secret is nowhere but in its file", secret and secret not in seen, where)


def revoked(book, section, a):
    """Who is taken out of the list is not served a second later."""
    section.says("`lockstep keys revoke web-1`")
    a.must(f"sudo -u lockstep lockstep keys revoke web-1 --access {HOME}/access.json && sleep 1")
    done = a.root(f"sudo -u lockstep lockstep counter add visits --node tcp://10.0.0.1:7400 {CLIENT.replace('20', '2')}")
    book.check(section, "a name that was taken out is not served", done.status not in (0, 64),
               done.text + unit_log(a, "lockstep-primary"))
    book.check(section, "the replicas go on", a.root(
        f"sudo -u lockstep lockstep status --data {PRIMARY} --wait 5").status == 0)


assert REPLICA == f"{HOME}/replica"
