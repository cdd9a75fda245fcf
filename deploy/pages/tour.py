"""README.md, docs/SEARCH.md and "Look inside" of docs/HACKING.md: on one host, with nodes of `deploy/up`."""
import re
import time

from namespaces import wait_until

from .operating import PAGE
from .source import Broken

PROGRAM = "PATH=$(swift build -c release --show-bin-path):$PATH"
HOST = "c"  # whose tour it is


def prepare(host):
    """What `deploy/setup` would install is there, or is not needed here."""
    host.must("rm -rf data && printf '#!/bin/sh\\nexit 0\\n' >deploy/setup && chmod +x deploy/setup && chown -R op . && "
              "rm -f /usr/local/bin/lockstep && rm -rf /usr/share/doc && mkdir -p /usr/share/doc && "
              "echo 'a shared library of its own' >/usr/share/doc/a.txt")


def up(host, command):
    """Starts `deploy/up` as the page has it, and leaves it running; another terminal goes on."""
    began = time.monotonic()
    host.root("rm -f /tmp/started.log")
    host.start(command.text)
    if not wait_until(lambda: "Try from another terminal" in host.root("cat /tmp/started.log").output, 60, 0.3):
        raise Broken(f"{command.place}: {command.text}\n    {host.root('cat /tmp/started.log').output[-500:]}")
    command.runs.append((host.letter, 0, time.monotonic() - began, command.text))


def down(host):
    host.root("pkill -u op -f deploy/up; pkill -u op lockstep; sleep 1; pkill -KILL -u op lockstep; pkill -u op etcd")


def readme(book, host):
    """README.md: two commands, and another terminal."""
    section = book.section("README.md", "Two commands")
    prepare(host)
    # What a restart of the host leaves: the file of a node, whose number is a stranger's now.
    host.run("mkdir data && { sleep 600 </dev/null >/dev/null 2>&1 & } && echo $! | tee data/stranger >data/primary.pid && "
             "deploy/down")
    book.check(section, "deploy/down leaves a stranger alone",
               host.run("kill -0 $(cat data/stranger) && test ! -e data/primary.pid").status == 0)
    host.run("mv data/stranger data/primary.pid")
    up(host, section.command("deploy/up"))
    path = section.command("PATH=")
    before = f"{path.text} && "
    path.runs.append((host.letter, 0, 0, path.text))
    for beginning, wanted in (("lockstep counter add", "1"), ("lockstep counter get", "1")):
        done = typed(book, host, section, beginning, before)
        book.check(section, f"{beginning} prints the value", done.output.strip() == wanted, done.text)
    watched = typed(book, host, section, "lockstep counter watch", before, expect=124, seconds=15)
    book.check(section, "watch shows the counter", "visits" in watched.output or "1" in watched.output, watched.text)
    typed(book, host, section, "kill -9", before)
    serve = section.command("lockstep serve")
    serve.runs.append((host.letter, 0, 0, serve.text))
    host.start(before + serve.text)
    section.says("Add again, in a third terminal: the value goes on, nothing is lost.")
    done = host.run(f"{before} lockstep counter add visits --timeout 20")
    book.check(section, "nothing is lost", done.output.strip() == "2", done.text)
    down(host)


def first_page(book, host):
    """What README.md names beside the tour: a package of one's own, and a node with HTTP."""
    section = book.section("README.md", "Two commands")
    done = book.quoted(host, section, "lockstep new", **{"--lockstep PATH": "--lockstep https://10.0.0.9/lockstep.git",
                                                         "lockstep new": f"{PROGRAM} && cd /tmp && lockstep new"})
    book.check(section, "new writes a package", host.root("test -s /tmp/shop/Package.swift").status == 0, done.text)
    host.must(f"runuser -u op -- bash -c '{PROGRAM} && lockstep init --data /tmp/shown'")
    serve = section.quote("lockstep serve --http")
    shown = f"{PROGRAM} && {serve.text} 127.0.0.1:9100 --data /tmp/shown --listen tcp://127.0.0.1:7480"
    host.start(shown)
    try:
        ask = "curl -sf http://127.0.0.1:9100"
        book.check(section, "a node with HTTP shows its metrics and the console", wait_until(
            lambda: host.root(f"{ask}/metrics && {ask}/").status == 0, 15), host.root("cat /tmp/started.log").text)
        serve.runs.append((host.letter, 0, 0, shown))
    finally:
        down(host)


def demonstrations(book, host):
    """README.md: data nodes of `deploy/up`, one of which is killed, and what it does under load, with few kills."""
    section = book.section("README.md", "Two commands")
    up(host, section.quote("deploy/up --cluster"))
    try:
        section.says("Kill any of them: another takes over by itself.")
        add = (f"{PROGRAM} && lockstep counter add visits --timeout 20 "
               "--node tcp://127.0.0.1:7400,tcp://127.0.0.1:7410,tcp://127.0.0.1:7420")
        first = host.run(add)
        host.must("kill -9 $(cat data-cluster/node-1.pid)")
        second = host.run(add)
        book.check(section, "another data node takes over by itself",
                   (first.output.strip(), second.output.strip()) == ("1", "2"), first.text + second.text)
    finally:
        down(host)
    for beginning, kills in (("deploy/up --demo", 3), ("deploy/up --cluster --demo", 2)):
        done = book.quoted(host, section, beginning, seconds=300, **{beginning: f"{beginning} --kills {kills}"})
        book.check(section, f"{beginning} does that under load, and checks the log",
                   "passed: equal digests, nothing acknowledged is missing" in done.output, done.text)


def typed(book, host, section, beginning, before, expect=0, seconds=60):
    """A command in a terminal whose PATH has the program."""
    command = section.command(beginning)
    done = host.run(before + command.text, seconds)
    command.runs.append((host.letter, done.status, done.seconds, command.text))
    if done.status != expect:
        raise Broken(f"{command.place}: {command.text}\n    ended with {done.status}, not {expect}: {done.text[-400:]}")
    return done


def look_inside(book, host):
    """The journals that `deploy/up` has left."""
    section = book.section("docs/HACKING.md", "Look inside")
    before = PROGRAM + " && "
    done = typed(book, host, section, "lockstep journal inspect", before)
    book.check(section, "inspect shows the stores", "counters" in done.output, done.text)
    typed(book, host, section, "lockstep journal verify", before)
    end = re.search(r"\b\d+:(\d+):", done.output)
    place = int(end[1]) if end else 3
    for beginning, rule in (("lockstep journal dump", ("--after 1000 --through 2000", f"--after 0 --through {place}")),
                            ("lockstep journal state-at", ("state-at 5000", f"state-at {place}"))):
        command = section.command(beginning)
        done = host.run(before + command.text.replace(*rule))
        command.runs.append((host.letter, done.status, done.seconds, command.text.replace(*rule)))
        book.check(section, f"{beginning} shows the journal", done.status == 0 and done.output.strip(), done.text)
    section.says("They want a node that is stopped.")
    done = book.quoted(host, book.section(PAGE, "12. Command line"), "journal difference",
                       **{"journal difference": f"{before} lockstep journal difference 1 {place} --data data/primary"})
    book.check(section, "difference shows what has changed", "visits" in done.output, done.text)


def searches(book, host):
    """README.md and docs/SEARCH.md: searches of `deploy/up --web`, if the program has HTTP."""
    readme_section = book.section("README.md", "Searches that all processes share")
    section = book.section("docs/SEARCH.md", "Try it")
    serve = host.run(f"{PROGRAM} && lockstep serve --data nowhere --listen tcp://127.0.0.1:7400 --search-github")
    if "trait Web" in host.run(f"{PROGRAM} && lockstep init --data /tmp/w >/dev/null && timeout 5 lockstep serve "
                               "--data /tmp/w --listen tcp://127.0.0.1:7460 --search-http 127.0.0.1:8460").text + serve.text:
        for page, title in (("README.md", readme_section.title), ("docs/SEARCH.md", section.title)):
            book.skip(page, title, "this program was built without the trait Web, so it has no HTTP")
        return
    prepare(host)
    up(host, readme_section.command("deploy/up --web"))
    before = PROGRAM + " && "
    for part in (readme_section, section):
        if part is section:
            again = part.command("deploy/up --web")
            again.runs.append((host.letter, 0, 0, again.text))
        for command in [command for command in part.commands if not command.runs and not command.reason]:
            watches = "search watch" in command.text
            done = typed(book, host, part, command.text, before, expect=124 if watches else 0,
                         seconds=3 if watches else 30)
            if "query" in command.text or command.text.startswith("curl"):
                book.check(part, f"{command.text} finds the text", "a.txt" in done.output, done.text)
    down(host)
