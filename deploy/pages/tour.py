"""README.md, docs/SEARCH.md and "Look inside" of docs/HACKING.md: on one host, with nodes of `deploy/up`."""
import re
import time

from namespaces import wait_until

from .source import Broken

PROGRAM = "PATH=$(swift build -c release --show-bin-path):$PATH"


def prepare(host):
    """What `deploy/setup` would install is there, or is not needed here."""
    host.must("rm -rf data && printf '#!/bin/sh\\nexit 0\\n' >deploy/setup && chmod +x deploy/setup && chown -R op . && "
              "rm -f /usr/local/bin/lockstep && rm -rf /usr/share/doc && mkdir -p /usr/share/doc && "
              "echo 'a shared library of its own' >/usr/share/doc/a.txt")


def up(book, host, section, beginning):
    """Starts `deploy/up` as the page has it, and leaves it running; another terminal goes on."""
    command = section.command(beginning)
    began = time.monotonic()
    host.root("rm -f /tmp/started.log")
    host.start(command.text)
    if not wait_until(lambda: "Try from another terminal" in host.root("cat /tmp/started.log").output, 60, 0.3):
        raise Broken(f"{command.place}: {command.text}\n    {host.root('cat /tmp/started.log').output[-500:]}")
    command.runs.append((host.letter, 0, time.monotonic() - began, command.text))


def down(host):
    host.root("pkill -u op -f deploy/up; pkill -u op lockstep; sleep 1; pkill -KILL -u op lockstep")


def readme(book, host):
    """README.md: two commands, and another terminal."""
    section = book.section("README.md", "Two commands")
    prepare(host)
    up(book, host, section, "deploy/up")
    path = section.command("PATH=")
    before = f"{path.text} && "
    path.runs.append((host.letter, 0, 0, path.text))
    for beginning, wanted in (("lockstep counter add", "1"), ("lockstep counter get", "1")):
        done = typed(book, host, section, beginning, before)
        book.check(section, f"{beginning} prints the value", done.output.strip() == wanted, done.text)
    watched = typed(book, host, section, "lockstep counter watch", before, expect=124, seconds=3)
    book.check(section, "watch shows the counter", "visits" in watched.output or "1" in watched.output, watched.text)
    typed(book, host, section, "kill -9", before)
    serve = section.command("lockstep serve")
    serve.runs.append((host.letter, 0, 0, serve.text))
    host.start(before + serve.text)
    section.says("Add again, in a third terminal: the value goes on, nothing is lost.")
    done = host.run(f"{before} lockstep counter add visits --timeout 20")
    book.check(section, "nothing is lost", done.output.strip() == "2", done.text)
    down(host)


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
    up(book, host, readme_section, "deploy/up --web")
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
