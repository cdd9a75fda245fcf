"""Runs what the pages say, compares with what they promise, and keeps the record of both."""
import re
import shlex
import time

from .source import Broken, read_pages


class Book:
    """The pages, what was run of them, and what was found."""

    def __init__(self, folder):
        self.pages = read_pages(folder)
        self.rules = {}  # what stands on the pages, and what it is in this run
        self.kept, self.broken, self.skipped = [], [], []
        self.began = time.monotonic()

    def section(self, page, title):
        return self.pages[page].section(title)

    # MARK: running

    def run(self, host, section, beginning, expect=0, seconds=60, to=None, **rules):
        """Runs the next command of a section that begins so; `rules` replace what the page leaves open.

        With `to`, the command ends with `| ssh`, and an address, which must be that host's.
        """
        command = section.command(beginning)
        text = command.text
        for mark, value in {**self.rules, **rules}.items():
            text = text.replace(mark, value)
        if to:
            left, _, right = text.partition(" | ssh ")
            address, *words = shlex.split(right)
            if address != to.address:
                raise Broken(f"{command.place}: {text}\n    names {address}, not the host's address {to.address}")
            done = host.pipe(left, to, " ".join(words))
        else:
            done = host.run(text, seconds)
        command.runs.append((host.letter, done.status, done.seconds, text))
        if expect is not None and done.status not in (expect if isinstance(expect, tuple) else (expect,)):
            raise Broken(f"{command.place}: {text}\n    ended with {done.status}, not {expect}: {done.text[-500:]}")
        return done

    def run_all(self, host, section, beginnings, **rules):
        return [self.run(host, section, beginning, **rules) for beginning in beginnings]

    # MARK: promises

    def check(self, section, promise, is_kept, seen=""):
        """One promise of a page."""
        text = f"{section.page}, {section.title}: {promise}"
        if is_kept:
            self.kept.append(text)
            return
        raise Broken(f"{text}\n    seen: {str(seen).strip()[-600:]}")

    def shows(self, section, beginning, text, where="the program"):
        """A text of the program is as the page shows it."""
        pattern = section.template(beginning)
        self.check(section, f"{where} says: {beginning} …", re.search(pattern, text), f"{pattern} in: {text}")

    def status(self, meaning):
        """The exit status that the page gives for something."""
        section = self.section("deploy/README.md", "Exit statuses")
        for row in section.table():
            if row[0].isdigit() and meaning in row[1]:
                return int(row[0])
        raise Broken(f"deploy/README.md, Exit statuses: no exit status is given for: {meaning}")

    # MARK: situations

    def situation(self, name, body, *arguments):
        """One situation of the pages; what is broken in it is told, and the next is tried."""
        began = time.monotonic()
        try:
            body(self, *arguments)
            outcome = "as the pages say"
        except (Broken, RuntimeError, OSError) as error:
            outcome = "BROKEN"
            self.broken.append(f"{name}: {error}")
        print(f"{time.monotonic() - self.began:6.1f} s  {name}: {outcome} ({time.monotonic() - began:.1f} s)", flush=True)
        if outcome == "BROKEN":
            print("    " + self.broken[-1].split(": ", 1)[1], flush=True)
        return outcome != "BROKEN"

    def skip(self, page, title, reason):
        """What this machine or this program cannot run of a section."""
        for command in self.section(page, title).commands:
            if not command.reason and not command.runs:
                command.reason = reason

    def report(self):
        """Every command of the pages, and that it ran, or why not."""
        for page in self.pages.values():
            for section in page.sections:
                for command in section.commands:
                    self.print_command(command)
        print(f"{len(self.kept)} promises kept, {len(self.broken)} situations broken", flush=True)

    def print_command(self, command):
        if command.runs:
            host, status, seconds, text = command.runs[-1]
            times = f", {len(command.runs)} times" if len(command.runs) > 1 else ""
            print(f"ran      {command.place}  {command.text}\n         on {host}{times}, last: status {status}, "
                  f"{seconds:.1f} s" + (f", as: {text}" if text != command.text else ""))
        elif command.reason:
            print(f"not run  {command.place}  {command.text}\n         because: {command.reason}")
        else:
            print(f"MISSED   {command.place}  {command.text}")
            self.broken.append(f"{command.place}: no situation runs it: {command.text}")
