"""Those who send actions: an outcome that a command did not learn, held effects, and sessions that nobody needs."""
import re
import sys

from namespaces import wait_until

from .operating import PAGE, PRIMARY, add, alarms, value
from .source import Broken
from .trouble import FLOOD, WRONG, seen

SILENCE = f"sudo {sys.executable} deploy/pages/silence.py"
LOST = "lost-answer"
# A search that nobody made before.
ITS = "lockstep search query its --node tcp://10.0.0.1:7400 --insecure"


def outcome(book, b):
    """Section 6: a command ends with 75, and its outcome is asked for."""
    section = book.section(PAGE, "Ask for an unknown outcome")
    b.start(f"{SILENCE} 7700 10.0.0.1 7400 {LOST}")
    try:
        section.says("A command that ends with 75 sent an action and did not learn what became of it")
        if not wait_until(lambda: b.root("ss -ltn | grep -q :7700").status == 0, 10, 0.1):
            raise Broken(f"the network that loses answers does not run: {b.root('cat /tmp/started.log').text}")
        done = b.run(f"lockstep counter add {LOST} --node tcp://127.0.0.1:7700 --timeout 8")
    finally:
        b.root("pkill -f pages/silence.py")
    unknown = book.status("outcome unknown")
    book.check(section, "an outcome that is unknown has its status", done.status == unknown, f"{done.status}: {done.text}")
    section.says("It prints the command that asks, with the session and the number of the action")
    asks = re.search(r"lockstep outcome (\d+:\d+) (\d+) --node", done.error)
    book.check(section, "the command that asks is printed", asks, done.text)
    rules = {"SESSION": asks[1], "NUMBER": asks[2]}
    book.lost = asks[1]
    section.says("It ends with 0 if the action took effect")
    asked = book.run(b, section, "lockstep outcome", **rules)
    book.check(section, "the action took effect", value(b, name=LOST) == 1, asked.text)
    rules["NUMBER"] = str(int(asks[2]) + 1)
    section.says("and with 75 while that is not known: `pending`")
    asked = book.run(b, section, "lockstep outcome", expect=unknown, **rules)
    book.check(section, "what is not in the log is pending", "pending" in asked.output, asked.text)
    book.check(section, "a command that waits says so, once", done.error.count("waiting for") == 1, done.text)


def held_effects(book, a):
    """`--hold-effects`: the primary serves so, lists what was accepted and has not ended, and serves without it again."""
    section = book.section(PAGE, "Start without effects: `--hold-effects`")
    arguments = "tr '\\0' ' ' </proc/$(systemctl show -p MainPID --value lockstep-primary)/cmdline"
    for is_held in (True, False):
        for beginning in ("sudo sed", "sudo systemctl restart", "sudo -u lockstep lockstep status"):
            done = book.run(a, section, beginning)
        book.check(section, "the primary serves", "admitting" in done.output, done.text)
        book.check(section, "the option is given" if is_held else "the option is gone",
                   ("--hold-effects" in a.must(arguments)) == is_held, a.must(arguments))
        if not is_held:
            break
        for store in ("counters", "search"):
            done = book.run(a, section, f"sudo -u lockstep lockstep actions list --data {PRIMARY} --store {store}")
            book.check(section, f"list shows what has not ended of {store}",
                       re.search("^(every accepted action has ended|ACTION)", done.output), done.text)
        book.quoted(a, book.section(PAGE, WRONG), "sudo -u lockstep lockstep actions list")
        # The stores of this program have no effects but the feedback that asks for searches.
        section.says("without feedback")
        asked = a.run(f"timeout 3 {ITS}")
        book.check(section, "a new search is not asked for", asked.status == 124 and add(a) > 0, asked.text)
    done = a.run(ITS)
    book.check(section, "it is asked for as soon as effects are no longer held", "a.txt" in done.output, done.text)


def flooded(book, section, a, b):
    """A client opens sessions without need, until the alarm is raised."""
    # A connection that has more than 1,024 gets no further one from 12,288 on (PROTOCOL R-19).
    for name, count in (("crowd-1", 10_000), ("crowd-2", 2_200), ("crowd-3", 200)):
        b.start(f"{FLOOD} 10.0.0.1 7400 sessions {name} {count}", f"/tmp/flood-{name}.log")
        if not wait_until(lambda name=name: "done" in b.root(f"cat /tmp/flood-{name}.log").output, 60, 0.2):
            raise Broken(f"the client that opens sessions does not work: {b.root('cat /tmp/flood-*.log').text}")
    book.check(section, "so many sessions raise the alarm", seen(a, "SESSIONS_NEAR_LIMIT"), alarms(a))
    book.shows(section, "SESSIONS_NEAR_LIMIT", alarms(a), "status")
    section.says("New clients still get in as long as there are sessions that were never used")
    book.check(section, "new clients still get in", add(b, "crowded") >= 1)


def crowd(book, a, b):
    """SESSIONS_NEAR_LIMIT: the alarm is raised, and its commands end it."""
    section = book.section(PAGE, "SESSIONS_NEAR_LIMIT")
    try:
        flooded(book, section, a, b)
        b.root("pkill -f pages/flood.py")
        book.quoted(a, book.section(PAGE, WRONG), "sudo -u lockstep lockstep sessions list")
        done = book.run(a, section, "sudo -u lockstep lockstep sessions list")
        book.check(section, "list shows who has them", done.output.count(" crowd-1 ") > 5_000, done.text)
        done = book.run(a, section, "sudo -u lockstep lockstep sessions close --data /var/lib/lockstep/primary --peer",
                        NODE="crowd-1")
        section.says("with `--peer` all of that client")
        book.check(section, "close ends all of that client", re.match(r"closed \d{4,5} ", done.output), done.text)
        section.says("The alarm ends when less than half of the sessions are left.")
        book.check(section, "the alarm ends", wait_until(lambda: "SESSIONS" not in alarms(a), 15, 0.2), alarms(a))
    finally:
        b.root("pkill -f pages/flood.py")
        for name in ("crowd-2", "crowd-3"):
            a.root(f"sudo -u lockstep lockstep sessions close --data {PRIMARY} --peer {name}")


def sessions(book, a):
    """SESSIONS_NEAR_LIMIT: who is told, and how, with the session that the lost answer has left open."""
    section = book.section(PAGE, "SESSIONS_NEAR_LIMIT")
    done = book.run(a, section, "sudo -u lockstep lockstep sessions list")
    listed = [row.split() for row in done.output.splitlines()[1:]]
    # One that was left open by a process that is gone has no peer that this boot knows.
    rows = [row for row in listed if row[1] != "-"]
    book.check(section, "list shows who has them", rows, done.text)
    lost = [row for row in listed if row[0] == book.lost]
    book.check(section, "the session of the lost answer is among them", lost, done.text)
    book.takes(book.section(PAGE, "Ask for an unknown outcome"), "The command's session ends after {};", float(lost[0][6]),
               is_exact=True)
    done = book.run(a, section, "sudo -u lockstep lockstep sessions close --data /var/lib/lockstep/primary --unused")
    book.check(section, "close ends those that match every option", done.output.startswith("closed 0 "), done.text)
    done = book.run(a, section, "sudo -u lockstep lockstep sessions close --data /var/lib/lockstep/primary --peer",
                    NODE=rows[0][1])
    book.check(section, "close ends those of a peer", done.output.startswith("closed 1 "), done.text)
    listed = a.must(f"sudo -u lockstep lockstep sessions list --data {PRIMARY}")
    book.check(section, "they are gone", rows[0][0] not in listed, listed)
    section.says("or the one whose ID is given")
    again = a.root(f"sudo -u lockstep lockstep sessions close --data {PRIMARY} {rows[0][0]}")
    book.check(section, "one that is gone is not closed again", "closed 1" not in again.output, again.text)
