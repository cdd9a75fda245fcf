"""A folder of which there are two: a second node of one name, and a primary whose clock is wrong."""
import glob

from namespaces import wait_until

from .operating import NODE, PAGE, PRIMARY, REPLICA, await_phase, stores
from .source import Broken
from .trouble import UNIT, WRONG, seen

SECOND = "/var/lib/lockstep/second"


def copied(host, unit, folder):
    """Copies the folder of a node that is stopped for it."""
    host.must(f"systemctl stop {unit} && rm -rf {SECOND} && cp -a {folder} {SECOND} && systemctl start {unit}")


def end_second(host):
    """Ends the second node, and waits for its end: nobody else is served from its folder before."""
    # The shell that looks for it must not find itself.
    one = f"-f '[s]erve --data {SECOND}'"
    for signal in ("TERM", "KILL"):
        host.root(f"pkill -{signal} {one}")
        if wait_until(lambda: host.root(f"pgrep {one}").status == 1, 10, 0.1):
            return
    raise Broken("the second node does not end")


def stop_second(host):
    end_second(host)
    host.root(f"rm -rf {SECOND}")


def duplicate(book, a, b):
    """DUPLICATE_NODE: a folder was copied, and both run."""
    section = book.section(PAGE, "DUPLICATE_NODE")
    copied(b, "lockstep-replica", REPLICA)
    await_phase(b, "live")
    try:
        b.start(f"sudo -u lockstep lockstep serve --data {SECOND} --replica-of {NODE} --listen tcp://10.0.0.2:7600 "
                "--insecure")
        book.check(section, "two nodes of one name raise the alarm at the primary", seen(a, "DUPLICATE_NODE", 20),
                   b.root("cat /tmp/started.log").text)
        book.shows(section, "DUPLICATE_NODE", " | ".join(alarm for store in stores(a) for alarm in store["alarms"]), "status")
        done = book.quoted(a, book.section(PAGE, WRONG), f"sudo -u lockstep lockstep status --data {PRIMARY}")
        book.check(section, "status shows it", "DUPLICATE_NODE" in done.output, done.text)
    finally:
        stop_second(b)
    section.says("The alarm ends some seconds after one of the two is gone.")
    book.check(section, "the alarm ends",
               wait_until(lambda: not any(store["alarms"] for store in stores(a)), 30, 0.2), stores(a))
    await_phase(b, "live")


def refused_clock(book, a):
    """The clock is refused: a copy of the primary's folder is served with a clock that is eight days ahead, and then
    with that of the host, which is as far behind the log."""
    section = book.section(PAGE, "The clock is refused")
    library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    if not library:
        return book.skip(PAGE, section.title, "libfaketime is missing: install it (deploy/setup --pages)")

    def at(hours):
        """A command with a clock that is so many hours ahead."""
        # The library sets a variable as it is loaded, which moves the environment, and Swift's runtime then does not
        # find the program's arguments. Through a shell the variable is there already.
        return (f"sudo -u lockstep env LD_PRELOAD={library[0]} FAKETIME={hours:+}h FAKETIME_DONT_FAKE_MONOTONIC=1 "
                "sh -c 'exec \"$@\"' sh ")

    clock_help(book, section, a)
    copied(a, UNIT, PRIMARY)
    try:
        accepted_clock(book, section, a, at(192), "ahead of")
        section.says("A clock that is ahead of the log: this holds for an hour.")
        is_refused(book, section, a, at(194), "ahead of")
        starts(a, at(192))
        accepted_clock(book, section, a, at(0), "behind")
        section.says("A clock that is behind the log: this holds for every start until the clock has passed the log.")
        for hours in (0, 0, 2):
            starts(a, at(hours))
        section.says("If the clock goes back by another hour, it is refused again.")
        is_refused(book, section, a, at(-2), "behind")
    finally:
        stop_second(a)
    await_phase(a, "admitting")
    return None


def clock_help(book, section, a):
    """The help of the command says the same as the page."""
    shown = " ".join(a.run("lockstep help clock accept").output.split())
    for page, text in (("(more than 7 days)", "more than 7 days ahead of its log"),
                       ("(more than an hour)", "or 1 hour behind it"),
                       ("accept it for all stores of the folder", "Default: all of the folder."),
                       ("A clock that is ahead of the log: this holds for an hour. Then the log has the clock's time.",
                        "A clock that is ahead of the log is accepted for an hour, in which the node is to start; then "
                        "the log has the clock's time."),
                       ("this holds for every start until the clock has passed the log",
                        "accepted until it has passed the log, for every start"),
                       ("If the clock goes back by another hour", "unless it goes back by another hour"),
                       *[("the log's time runs at half the clock's rate",) * 2]):
        section.says(page)
        book.check(section, f"the command's help says so, too: {page}", text in shown, shown)


def serve(clock):
    return f"{clock}lockstep serve --data {SECOND} --listen tcp://127.0.0.1:7600 --audience-timeout 0"


def is_refused(book, section, a, clock, way):
    done = a.root(serve(clock), seconds=10)
    book.check(section, "the node does not start", done.status not in (0, 124), done.text)
    book.check(section, f"the clock is {way} the log", f" s {way} the last entry of " in done.text, done.text)
    book.shows(section, "this host's clock", done.text.replace(way, "ahead of"))
    book.check(section, "it names the command, and no property of the library",
               "lockstep clock accept" in done.text and "acceptsClock" not in done.text, done.text)


def accepted_clock(book, section, a, clock, way):
    """Accepts a clock; without that it is refused."""
    is_refused(book, section, a, clock, way)
    book.run(a, section, "sudo -u lockstep lockstep clock accept", **{"sudo -u lockstep ": clock, PRIMARY: SECOND})
    section.says("and start the node")


def starts(a, clock):
    """Starts the node with a clock, and ends it when it has written with it."""
    a.start(serve(clock))
    if not wait_until(lambda: {store["phase"] for store in stores(a, SECOND)} == {"admitting"}, 15, 0.2):
        raise Broken(f"a clock that was accepted is refused: {a.root('cat /tmp/started.log').text}")
    end_second(a)
