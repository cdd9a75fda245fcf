"""Runs what the pages say, compares with what they promise, and keeps the record of both."""
import re
import shlex
import time

from .source import Broken, read_pages


def seconds_of(text):
    """A time of a page in seconds; None if it is none."""
    words = {"a second": 1, "a second or two": 2, "half a second": 0.5, "half second": 0.5, "a minute": 60, "an hour": 3_600}
    found = re.fullmatch(r"([0-9.]+) (ms|s|seconds?|minutes?|hours?|days?)", text)
    units = {"m": 60, "h": 3_600, "d": 86_400, "s": 1}
    if not found:
        return words.get(text)
    return float(found[1]) * (0.001 if found[2] == "ms" else units[found[2][0]])


class Book:
    """The pages, what was run of them, and what was found."""

    def __init__(self, folder):
        self.pages = read_pages(folder)
        self.rules = {}  # what stands on the pages, and what it is in this run
        self.kept, self.broken, self.skipped, self.times = [], [], [], []
        self.lost = None  # the session of an answer that was lost
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

    def quoted(self, host, section, beginning, expect=0, seconds=60, **rules):
        """Runs a command that the text, or a table, has in backquotes."""
        command = section.quote(beginning)
        text = command.text
        for mark, value in {**self.rules, **rules}.items():
            text = text.replace(mark, value)
        done = host.run(text, seconds)
        command.runs.append((host.letter, done.status, done.seconds, text))
        if expect is not None and done.status != expect:
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

    def takes(self, section, phrase, seen, is_exact=False):
        """A time of the page, in seconds: what was seen is no longer, and where it is exact not much shorter.

        In `phrase`, `{}` stands for the time. The machine may be busy: three times as long, and 2 s, are allowed.
        """
        found = re.search(re.escape(phrase).replace(r"\{\}", "([a-z0-9. ]{1,20}?)"), section.prose)
        stated = found and seconds_of(found[1])
        if not stated:
            raise Broken(f"{section.page}, {section.title}: the page does not say: {phrase}")
        self.times.append(f"{section.page}, {section.title}: {found[0]}: seen {seen:.1f} s")
        is_kept = seen <= 3 * stated + 2 and (not is_exact or seen >= stated / 2)
        self.check(section, found[0], is_kept, f"{seen:.1f} s")

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

    def skip(self, page, title, reason, but=None):
        """What this machine or this program cannot run of a section, but for commands with a text."""
        section = self.section(page, title)
        for command in section.commands + section.quoted:
            if not command.reason and not command.runs and not (but and but in command.text):
                command.reason = reason

    def report(self, typed=()):
        """Every command of the pages, and that it ran, or why not; `typed` are the lines that the hosts have run."""
        sections = [section for page in self.pages.values() for section in page.sections]
        commands = [command for section in sections for command in section.commands + section.quoted]
        typed = [run[-1] for command in commands for run in command.runs] + list(typed)
        wrong = sections[[section.title[:3] for section in sections].index("11."):]
        wrong = wrong[:[section.title[:3] for section in wrong].index("12.")]
        for section in sections:
            for command in section.commands:
                self.print_command(command)
            for command in section.quoted:
                # What helps when something is wrong is tried: the table's commands as they are, the others at least
                # as a part of what was typed.
                self.print_command(command, [] if section is wrong[0] else typed, may_be_compared=section not in wrong)
        for line in self.times:
            print(f"time     {line}")
        print(f"{len(self.kept)} promises kept, {len(self.broken)} situations broken", flush=True)

    def print_command(self, command, typed=(), may_be_compared=False):
        """One command; of a script its first line."""
        shown = command.text.split("\n")[0]
        if command.runs:
            host, status, seconds, text = command.runs[-1]
            times = f", {len(command.runs)} times" if len(command.runs) > 1 else ""
            typed = text.split("\n")[0]
            print(f"ran      {command.place}  {shown}\n         on {host}{times}, last: status {status}, "
                  f"{seconds:.1f} s" + (f", as: {typed}" if typed != shown else ""))
        elif command.reason:
            print(f"not run  {command.place}  {shown}\n         because: {command.reason}")
        elif whole := next((line for line in typed if command.is_part_of(line)), None):
            print(f"named    {command.place}  {shown}\n         ran as: {' '.join(whole.split())[:160]}")
        elif may_be_compared and command.is_compared and command.has_placeholders:
            print(f"compared {command.place}  {shown}\n         with the program's help")
        else:
            print(f"MISSED   {command.place}  {shown}")
            self.broken.append(f"{command.place}: no situation runs it: {shown}")
