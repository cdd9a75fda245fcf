"""The situations of the pages, in an order in which each finds what it needs."""
import os
import shutil

from . import backups, callers, copies, faces, failover, hosts, keys, named, operating, roles, tour, trouble, unwell
from .book import Book


def boot(home):
    """Four hosts with nothing of Lockstep on them but a clone of the repository."""
    hosts.connect()
    made = {letter: hosts.Host(letter) for letter in hosts.LETTERS}
    for host in made.values():
        shutil.copytree(home, f"{hosts.FOLDER}/home-{host.letter}", symlinks=True)
        if host.letter == tour.HOST:
            os.rename(f"{hosts.FOLDER}/lockstep-lab", f"{hosts.FOLDER}/home-{host.letter}/.build/release/lockstep-lab")
        host.boot()
    for host in made.values():
        host.await_boot()
    return tuple(made.values())


def begin(book, a, b, c, d):
    """The tour, on a host that has no node yet, and sections 2 to 10 of deploy/README.md; whether there is a cluster."""
    book.situation("two commands", tour.readme, c)
    book.situation("look inside", tour.look_inside, c)
    book.situation("commands of the first page", tour.first_page, c)
    book.situation("demonstrations", tour.demonstrations, c)
    book.situation("searches", tour.searches, c)
    for host in (a, b, c, d):
        book.situation(f"install on {host.letter}", operating.install, host)
    book.situation("commands that are named", named.compare, c)
    book.situation("with keys", keys.cluster, a, b, c, d)
    if not book.situation("the primary", operating.primary, a) or not all(
            [book.situation(f"replica {host.letter}", operating.replica, host) for host in (b, c)]):
        return False
    book.situation("an address that comes later", operating.late_address, c)
    book.situation("an address for HTTP that comes later", faces.late, a)
    book.situation("look at it", operating.look, a, b)
    book.situation("upgrade", operating.upgrade, a, b, c)
    book.situation("a primary hears its replicas", operating.audience, a, b)
    book.situation("back up and restore", backups.backup, a, b)
    book.situation("a restored primary is behind", backups.primary, a)
    book.situation("a new replica of a backup", backups.new_replica, a)
    book.situation("a unit that has failed", trouble.failed_unit, a)
    return True


def run(home, book: Book):
    """All of it; the exit status."""
    a, b, c, d = boot(home)
    if begin(book, a, b, c, d):
        book.situation("an outcome that is unknown", callers.outcome, b)
        book.situation("effects that are held", callers.held_effects, a)
        book.situation("sessions that nobody needs", callers.sessions, a)
        book.situation("sessions without number", callers.crowd, a, b)
        book.situation("two nodes of one name", copies.duplicate, a, b)
        book.situation("no primary", trouble.no_primary, a, b)
        book.situation("searches without a primary", faces.away, a, b)
        book.situation("another state than the primary's", unwell.diverged, a, b)
        book.situation("a port that is closed", unwell.closed_port, a, b)
        book.situation("a node that refuses", unwell.refused, d)
        book.situation("a primary is told how long it hears", unwell.told_audience, a, b)
        book.situation("a full disk", trouble.full_disk, a, b)
        book.situation("a loss that is accepted", trouble.accepted_loss, a, b, c)
        book.situation("a replica's journal is damaged", trouble.damaged_replica, b)
        book.situation("the primary's journal is damaged", trouble.damaged_primary, a)
        book.situation("older entries are damaged", trouble.damaged_before, a, b)
        book.situation("a folder in use", trouble.in_use, a)
        book.situation("a clock that is refused", copies.refused_clock, a)
        book.situation("a promotion by mistake", roles.undone, a, c)
        failover.play(book, a, b, c, d)
        book.situation("a lost host", roles.lost_host, a, b, c, d)
    book.report(hosts.Host.typed)
    for problem in book.broken:
        print(f"BROKEN   {problem}")
    return 1 if book.broken else 0
