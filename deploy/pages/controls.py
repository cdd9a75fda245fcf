"""The test's own test: mistakes are planted in copies of the pages, and each must be found, by the situation it is in."""
import os
import shutil

from namespaces import CannotRun

from . import callers, data, failover, hosts, play, roles, trouble
from .book import Book
from .operating import await_phase
from .source import PAGES

# What is on the page, what is planted, how the finding begins, and what it must name.
PLANTED = [
    ("deploy/README.md", "lockstep counter list --node", "lockstep counter lst --node", "look at it: ", "counter list"),
    ("deploy/README.md", "log says `waiting for the address to listen at`", "log says `awaiting its address`",
     "an address that comes later: ", "waiting for the address"),
    ("deploy/README.md", "sudo systemctl restart lockstep-replica\n", "sudo systemctl restart lockstep-replicas\n",
     "upgrade: ", "lockstep-replicas"),
    ("deploy/README.md", "A replica fetches what it lacks.", "A replica forgets what it lacks.", "back up and restore: ",
     "fetches what it lacks"),
    ("deploy/README.md", "| 64 | wrong usage", "| 63 | wrong usage", "a unit that has failed: ", "ExecMainStatus=64"),
    ("README.md", "`deploy/up --demo` does", "`deploy/up --kills` does", "demonstrations: ", "deploy/up --demo"),
    ("deploy/README.md", "waited for likewise; the node serves meanwhile", "waited for likewise; the node waits, too",
     "an address for HTTP that comes later: ", "serves meanwhile"),
    ("docs/HACKING.md", "lockstep journal verify --data data/primary\n", "lockstep journal verfy --data data/primary\n",
     "look inside: ", "journal verify"),
    ("deploy/README.md", "`lockstep init --store counters` makes", "`lockstep init --stores counters` makes",
     "commands that are named: ", "no option --stores"),
    ("deploy/README.md", "and 5 s at most where one of them", "and 50 s at most where one of them",
     "a primary hears its replicas: ", "50 s at most"),
    ("deploy/README.md", "--role writer --access", "--role reader --access", "with keys: ", "counter add"),
    ("deploy/README.md", "`SESSIONS_NEAR_LIMIT: N of 16384 sessions are open`. Each",
     "`SESSIONS_NEAR_LIMIT: N of 999 sessions are open`. Each", "sessions without number: ", "999"),
    ("deploy/README.md", "lockstep demote --data /var/lib/lockstep/primary --yes",
     "lockstep demote --data /var/lib/lockstep/primary --no", "a promotion by mistake: ", "--no"),
    ("deploy/README.md", "--from tcp://10.0.0.2:7400 --anew", "--from tcp://10.0.0.2:7400 --again",
     "older entries are damaged: ", "--again"),
    ("deploy/README.md", "cluster members --data /var/lib/lockstep/data\n",
     "cluster membres --data /var/lib/lockstep/data\n", "several data nodes: ", "cluster members"),
    ("docs/FAILOVER.md", "counters --to node-b", "counters --to node-d", "posts of data nodes: ", "--to node-b"),
    ("deploy/README.md", "`lockstep help`, and", "```\nlockstep counter add unheard-of\n```\n\n`lockstep help`, and",
     "deploy/README.md:", "counter add unheard-of"),
    ("deploy/README.md", "- Commands for programs have `--json`.", "- Programs have `deploy/unheard-of`.",
     "deploy/README.md:", "deploy/unheard-of"),
]


def plant(folder, pages):
    """Copies of the pages, each mistake once."""
    for name in PAGES:
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        shutil.copy(f"{pages}/{name}", f"{folder}/{name}")
    for name, right, wrong, *_ in PLANTED:
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            text = file.read()
        if right not in text:
            raise CannotRun(f"{name} does not have what a mistake is planted in: {right}")
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text.replace(right, wrong, 1))


def run(home, pages):
    folder = f"{hosts.FOLDER}/planted"
    plant(folder, pages)
    book = Book(folder)
    a, b, c, d = play.boot(home)
    play.begin(book, a, b, c, d)
    # A mistake that was found has left its host as it was then.
    a.root("cp /tmp/kept /etc/lockstep/primary.env; systemctl reset-failed lockstep-primary; systemctl restart lockstep-primary")
    # Before it admits it opens no sessions, and says nothing that would end the wait for one.
    await_phase(a, "admitting")
    book.situation("sessions without number", callers.crowd, a, b)
    book.situation("a promotion by mistake", roles.undone, a, c)
    book.situation("older entries are damaged", trouble.damaged_before, a, b)
    book.situation("several data nodes", data.made, a, b, c, d)
    book.situation("posts of data nodes", failover.posts, a, b, c)
    # The situations of the rest are not played, so their commands are not missed.
    for page in book.pages.values():
        for section in page.sections:
            book.skip(page.name, section.title, "a control plays the beginning only", but="unheard-of")
    book.report(hosts.Host.typed)

    def is_of(problem, entry):
        return problem.startswith(entry[3]) and entry[4] in problem

    missed = [entry[:3:2] for entry in PLANTED if not any(is_of(problem, entry) for problem in book.broken)]
    for name, wrong in missed:
        print(f"NOT FOUND {name}: {wrong.strip()}")
    others = [problem for problem in book.broken if not any(is_of(problem, entry) for entry in PLANTED)]
    for problem in others:
        print(f"BROKEN   {problem}")
    print(f"{len(PLANTED) - len(missed)} of {len(PLANTED)} planted mistakes were found")
    return 1 if missed or others else 0
