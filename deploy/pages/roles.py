"""The end of section 11 of deploy/README.md: a replica is promoted, by mistake and because a host is lost."""
import re

from namespaces import wait_until

from . import operating
from .operating import PAGE, REPLICA, add, alarms, await_phase, value
from .source import Broken
from .trouble import UNIT, WRONG, recovered, seen


def undone(book, a, c):
    """Undo a promotion: a replica was made a primary by mistake, and acknowledged nothing; the old one goes on."""
    section, lost = book.section(PAGE, "Undo a promotion"), book.section(PAGE, "The primary's host is lost")
    for beginning in ("sudo systemctl disable", "sudo -u lockstep lockstep promote", "sudo mv"):
        book.run(c, lost, beginning)
    third = book.section(PAGE, "3. The primary")
    c.must(f"printf '%s' '{third.files[0][1].replace('10.0.0.1', c.address)}' >{third.files[0][0]} && "
           f"cp deploy/systemd/{UNIT}.service /etc/systemd/system/ && systemctl daemon-reload && "
           f"systemctl enable --now {UNIT}")
    await_phase(c, "admitting")
    last = add(a)
    for beginning in ("sudo systemctl disable", "sudo -u lockstep lockstep demote", "sudo mv", "sudo systemctl enable"):
        book.run(c, section, beginning)
    section.says("`demote` sets aside what the node wrote as a primary, if it acknowledged nothing.")
    await_phase(c, "live")
    book.check(section, "it is a replica again", value(c, "tcp://10.0.0.3:7400") == last and not alarms(c) + alarms(a),
               alarms(c) + alarms(a))
    done = c.root(f"systemctl stop lockstep-replica; sudo -u lockstep lockstep journal inspect --data {REPLICA}; "
                  "systemctl start lockstep-replica")
    book.check(section, "what it wrote as a primary is set aside", "kept aside" in done.text, done.text)
    await_phase(c, "live")


def lost_host(book, a, b, c, d):
    """The primary's host dies; a replica is promoted that has less than another one, and listens at its address."""
    section = book.section(PAGE, "The primary's host is lost")
    last = add(b)
    if not wait_until(lambda: value(c, "tcp://10.0.0.2:7400") == last == value(b, "tcp://10.0.0.3:7400"), 10):
        raise Broken("the replicas do not follow")
    b.ip("link", "set", "eth0", "down")
    last = add(c)
    if not wait_until(lambda: value(c, "tcp://10.0.0.3:7400") == last, 10):
        raise Broken("the replica does not follow")
    a.die()
    b.ip("link", "set", "eth0", "up")
    book.check(section, "replicas go on answering reads, the one with less and the one with more",
               (value(c, "tcp://10.0.0.2:7400"), value(b, "tcp://10.0.0.3:7400")) == (last - 1, last))
    for host in (b, c):
        done = book.quoted(host, book.section(PAGE, WRONG), f"sudo -u lockstep lockstep status --data {REPLICA}")
        book.check(section, "at replicas NO_PRIMARY",
                   "NO_PRIMARY" in done.output or seen(host, "NO_PRIMARY"), done.text)
    book.run(b, section, "sudo systemctl disable")
    section.says("`serve` refuses the other")
    done = b.root(f"sudo -u lockstep lockstep serve --data {REPLICA} --listen tcp://127.0.0.1:7600", seconds=10)
    book.check(section, "a replica's folder is not served as a primary's", done.status not in (0, 124), done.text)
    done = book.run(b, section, "sudo -u lockstep lockstep promote")
    section.says("`promote` prints where each store ends")
    book.check(section, "promote prints where each store ends",
               len(re.findall(r"^(counters|search)\s+\S*\d+", done.output, re.MULTILINE)) == 2, done.text)
    book.run(b, section, "sudo mv")
    section.says("Then write `/etc/lockstep/primary.env` and install the primary's unit as in section 3")
    section.says("Let it listen at the lost primary's address")
    third = book.section(PAGE, "3. The primary")
    b.must(f"printf '%s' '{third.files[0][1]}' >{third.files[0][0]}")
    b.ip("address", "add", "10.0.0.1/24", "dev", "eth0")
    for beginning in ("sudo cp deploy/systemd", "sudo systemctl daemon-reload", "sudo systemctl enable"):
        book.run(b, third, beginning)
    section.says("Announce the address in its network")
    book.quoted(b, section, "arping -U", **{"arping -U": "sudo arping -U -c 2 -I eth0 10.0.0.1"})
    section.says("Another replica that has more makes the new primary say PRIMARY_BEHIND; recover from it.")
    recovered(book, b, last, source=c.address)
    await_phase(c, "live", 15)
    book.check(section, "the other replica follows", wait_until(lambda: value(c, "tcp://10.0.0.3:7400") == last + 1, 5))
    section.says("Begin that host anew as a replica, with `lockstep init` and a new name")
    # Nothing of the lost host is left, so another one stands for it.
    operating.replica(book, d)
    book.check(section, "the host that was begun anew follows", value(c, "tcp://10.0.0.4:7400") == last + 1)
