"""Sections 9 and 10 of deploy/README.md: backups of a replica and of the primary, and nodes that are made of them."""
import re

from namespaces import wait_until

from .copies import SECOND, stop_second
from .operating import NODE, PAGE, REPLICA, TODAY, add, phases, stores, value
from .trouble import recovered, seen


def backup(book, a, b):
    """Sections 9 and 10."""
    section = book.section(PAGE, "9. Back up")
    book.run(b, section, "sudo install -d")
    done = book.run(b, section, "sudo -u lockstep lockstep backup --data /var/lib/lockstep/replica")
    section.says("It prints one line: the file, its bytes, and up to where it has each store.")
    book.check(section, "one line says the file, its bytes and each store's place",
               re.fullmatch(r"/backup/replica-\S+: \d+ bytes, counters through \d+:\d+, search through \d+:\d+\n",
                            done.output), done.text)
    add(a)
    done = book.run(b, section, "sudo -u lockstep lockstep backup --data /var/lib/lockstep/replica", **TODAY)
    book.check(section, "an increment says what it follows",
               re.search(r"counters through \S+ \((since \S+|whole)\)", done.output), done.text)
    done = book.run(b, section, "sudo -u lockstep lockstep backup show")
    book.check(section, "show prints what a file holds", "goes on from" in done.output and "counters" in done.output,
               done.text)
    refused = b.root("sudo -u lockstep lockstep backup --data /var/lib/lockstep/replica --to /backup/replica-$(date +%F)")
    section.says("A file that is there is not replaced without `--overwrite`.")
    book.check(section, "a file is not replaced", refused.status == book.status("refused or failed"), refused.text)
    b.must("head -c 9000 /backup/replica-$(date +%F) >/backup/cut")
    damaged = b.root("lockstep backup show /backup/cut")
    section.says("It exits with 65 if the file is damaged.")
    book.check(section, "a damaged file is found", damaged.status == book.status("is damaged"), damaged.text)
    count = add(a)
    section = book.section(PAGE, "10. Restore")
    for beginning in ("sudo systemctl stop", "sudo mv", "sudo -u lockstep lockstep restore", "sudo systemctl start"):
        book.run(b, section, beginning, **TODAY)
    done = book.run(b, section, "sudo -u lockstep lockstep status")
    section.says("A replica fetches what it lacks.")
    book.check(section, "a replica fetches what it lacks",
               wait_until(lambda: value(b, "tcp://10.0.0.2:7400") == count, 10), done.text)
    checked(book, section, b)


def checked(book, section, b):
    """`restore --check` reads the backups, and writes nothing; `restore` writes to no folder that has something."""
    files = "--from /backup/replica-$(date +%F)"
    done = book.quoted(b, section, "restore --check",
                       **{"restore --check": f"sudo -u lockstep lockstep restore --check {files} {files}-1"})
    book.check(section, "restore --check reads all of a series", re.match("whole, counters through ", done.output),
               done.text)
    again = b.root(f"sudo -u lockstep lockstep restore {files} --data {REPLICA}")
    section.says("The folder must be empty or not there.")
    book.check(section, "a folder that is not empty is refused", again.status == book.status("wrong usage"), again.text)
    done = b.root("lockstep restore --check --from /backup/cut")
    book.check(section, "it finds damage", done.status == book.status("is damaged"), f"{done.status}: {done.text}")


def primary(book, a):
    """The primary's part: something is acknowledged after the backup, so the primary that is made of it is behind."""
    section = book.section(PAGE, "9. Back up")
    for beginning in ("sudo install -d", "sudo -u lockstep lockstep backup --data /var/lib/lockstep/primary"):
        book.run(a, section, beginning)
    last = add(a)
    section = book.section(PAGE, "10. Restore")
    for beginning in ("sudo systemctl stop lockstep-primary", "sudo mv /var/lib/lockstep/primary",
                      "sudo -u lockstep lockstep restore --from /backup/primary",
                      "sudo systemctl start lockstep-primary"):
        book.run(a, section, beginning, **TODAY)
    section.says("Its replicas tell it, and it says PRIMARY_BEHIND.")
    # The 3 s of the command are not for the start.
    seen(a, "PRIMARY_BEHIND", 30)
    done = book.run(a, section, "sudo -u lockstep lockstep status --data /var/lib/lockstep/primary",
                    expect=book.status("refused or failed"), **{"--wait 30": "--wait 3"})
    book.check(section, "a restored primary says PRIMARY_BEHIND", "PRIMARY_BEHIND" in done.text, done.text)
    recovered(book, a, last)


def new_replica(book, a):
    """A backup of the primary begins a new replica, which fetches what came later."""
    section = book.section(PAGE, "10. Restore")
    section.says("A backup can also begin a new replica, which then fetches only what it lacks.")
    for option in ("`--as-replica`", "`--node NAME`"):
        section.says(option)
    done = a.root("sudo -u lockstep lockstep restore --from /backup/primary-$(date +%F) --as-replica --node node-r "
                  f"--data {SECOND}")
    book.check(section, "the folder is a replica's with that name", f"{SECOND}: node-r, a replica, " in done.output,
               f"{done.status}: {done.text}")
    try:
        a.start(f"sudo -u lockstep lockstep serve --data {SECOND} --replica-of {NODE} --listen tcp://10.0.0.1:7600 "
                "--insecure")
        book.check(section, "the new replica is live", wait_until(
            lambda: {store["phase"] for store in stores(a, SECOND)} == {"live"}, 15, 0.2),
            a.root("cat /tmp/started.log").text)
        book.check(section, "it has what came after the backup", value(a, "tcp://10.0.0.1:7600") == value(a), phases(a))
    finally:
        stop_second(a)
