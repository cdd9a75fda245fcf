"""The pages as the test reads them: sections, their commands in order, the files they show, and what they promise.

A command is a line of a fenced block without a language. What stands three spaces or more after it, or after two
spaces and `#`, is a remark. A block of the language `sh` is one command. A block after a line that ends with a path in
backquotes and a colon is that file. A comment `<!-- not run: REASON -->` in front of a block is for all of it,
`<!-- not run (BEGINNING): REASON -->` for its commands that begin so. A text in backquotes, in a text or in a cell of a
table, is a command if it begins as one of PROGRAMS, or if its column is headed as one of commands. In a text it
is one, too, if it is a command of `lockstep` without that word, with a subcommand or an option (SHORT). Such a comment
in front of the text or the table is for it too.
"""
import os
import re

PROGRAMS = ("lockstep ", "lockstep-lab ", "sudo ", "etcdctl ", "apt-get ", "arping ", "dmesg", "sysctl ", "deploy/")
SHORT = (r"(?:actions|backup|clock|cluster|counter|journal|keys|search|sessions) [a-z-]+(?: [^|]+)?"
         r"|(?:demote|init|promote|recover|restore|serve|status) --[^|]+")

PAGES = {
    "README.md": None,
    "deploy/README.md": None,
    "docs/SEARCH.md": None,
    "docs/FAILOVER.md": None,
    "docs/HACKING.md": ["Look inside"],
}


class Broken(Exception):
    """A page says what is not so, or not what the test checks."""


class Command:
    """A line that a page tells its reader to type."""

    def __init__(self, section, line, text, reason=None):
        self.section, self.line, self.text = section, line, text
        self.reason = reason  # why it is not run; None if it is
        self.runs = []
        self.is_compared = False  # with the program's help

    @property
    def whole(self):
        """The command with its program, which a short form leaves out."""
        return f"lockstep {self.text}" if re.fullmatch(SHORT, self.text) else self.text

    @property
    def has_placeholders(self):
        """Whether it cannot be typed as it is: capitals and `…` stand for values."""
        return re.search(r"(?<![-\w])[A-Z][A-Z_]*\b|…", self.text) is not None

    def is_part_of(self, typed):
        """Whether a line that was typed is this command, with these options and values, and maybe more of them."""
        program, *words = re.sub("^sudo (-u lockstep )?", "", self.whole).split()
        names = [word for word in words if not re.fullmatch("[a-z][a-z-]*", word)]
        names = words[:words.index(names[0])] if names else words
        # The name of the user is no command.
        typed = typed.replace("sudo -u lockstep ", "sudo ")
        for found in re.finditer(rf"(?<![\w/-]){re.escape(program)}(?: ([^;&|]*)|$)", typed):
            others = (found[1] or "").split()
            if others[:len(names)] == names and set(words) <= set(others):
                return True
        return False

    @property
    def place(self):
        return f"{self.section.page}:{self.line}"


class Section:
    """A heading, and what is below it up to the next."""

    def __init__(self, page, title):
        self.page, self.title = page, title
        self.lines, self.commands, self.files = [], [], []
        self.quoted = []  # commands in the text and in tables

    @property
    def prose(self):
        return " ".join(" ".join(self.lines).split())

    def command(self, beginning):
        """The first command that begins so and was not run yet, or else the last that was."""
        return self.find(self.commands, beginning)

    def quote(self, beginning):
        """The same of the commands in the text and in tables."""
        return self.find(self.quoted, beginning)

    def find(self, commands, beginning):
        found = [command for command in commands if command.text.startswith(beginning) and not command.reason]
        if not found:
            raise Broken(f"{self.page}, {self.title}: there is no command that begins with: {beginning}")
        return next((command for command in found if not command.runs), found[-1])

    def says(self, text):
        """What is promised here, which must be on the page word for word."""
        if " ".join(text.split()) not in self.prose:
            raise Broken(f"{self.page}, {self.title}: the page does not say: {text}")
        return text

    def template(self, beginning):
        """A text of the program as the page shows it, in backquotes, as a pattern: capitals and N stand for values."""
        found = [text for text in re.findall(r"`([^`]+)`", self.prose) if text.startswith(beginning)]
        if not found:
            raise Broken(f"{self.page}, {self.title}: the page does not show a text that begins with: {beginning}")
        pattern = re.escape(found[0].replace("\\ ", " "))
        for mark, value in (("E:S:HASH", r"[0-9]+:[0-9]+:[0-9a-f]+"), ("…", ".+"), (r"\bN\b", "[0-9]+"),
                            (r"\bS\b", "[0-9]+"), (r"node\\-[ab]", "[a-z0-9-]+")):
            pattern = re.sub(mark, lambda _, value=value: value, pattern)
        return pattern

    def table(self):
        """The rows of the section's tables."""
        rows = [cells(line) for line in self.lines if line.startswith("|")]
        return [row for row in rows if not set(row[0]) <= set("-| ")]


def cells(line):
    """The cells of a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def split_remark(line):
    """A line's command and what is said about it."""
    parts = re.split(r" {3,}(?=\S)|  +(?=# )", line, maxsplit=1)
    return parts[0].rstrip(), parts[1].strip() if len(parts) > 1 else ""


class Page:
    """One page of the project."""

    def __init__(self, folder, name, titles=None):
        self.name, self.sections = name, []
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            self.read(file.read().split("\n"))
        if titles is not None:
            self.sections = [section for section in self.sections if section.title in titles]

    def read(self, lines):
        section = Section(self.name, "")
        self.sections.append(section)
        marks, block, path, fence, head = [], None, None, "", None
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if block is not None:
                if text == "```":
                    if fence in ("", "sh"):
                        self.close(section, block, fence, marks, path)
                    marks, block, path = [], None, None
                else:
                    block.append((number, line))
            elif text.startswith("```"):
                block, fence = [], text[3:]
            elif line.startswith("#"):
                self.require_used(section, marks)
                section = Section(self.name, line.lstrip("# "))
                self.sections.append(section)
                marks, path, head = [], None, None
            elif mark := re.fullmatch(r"<!-- not run(?: \((.+?)\))?: (.+) -->", text):
                marks.append((mark[1] or "", mark[2]))
            elif text:
                section.lines.append(line)
                head = (head or cells(text)) if text.startswith("|") else None
                marks = self.take_quoted(section, number, text, head, marks)
                named = re.search(r"`(/[^`]+)`:$", text)
                path = named[1] if named else None
        self.require_used(section, marks)

    @staticmethod
    def require_used(section, marks):
        if marks:
            raise Broken(f"{section.page}, {section.title}: nothing begins with what is marked: {marks}")

    @staticmethod
    def take_quoted(section, number, text, head, marks):
        """Takes the commands of a line; the marks that are left for what follows."""
        used = set()
        for index, cell in enumerate(cells(text) if head else [text]):
            is_column = head and index < len(head) and "command" in head[index]
            for quoted in re.findall(r"`([^`]+)`", cell):
                if is_column or quoted.startswith(PROGRAMS) or not head and re.fullmatch(SHORT, quoted):
                    mark = next((mark for mark in marks if mark[0] and quoted.startswith(mark[0])), None)
                    used.add(mark)
                    section.quoted.append(Command(section, number, quoted, mark and mark[1]))
        return [mark for mark in marks if mark not in used]

    @classmethod
    def close(cls, section, block, fence, marks, path):
        """Takes a block's commands, or the file that it shows."""
        if path:
            section.files.append((path, "\n".join(line.strip() for _, line in block) + "\n"))
            return
        indent = min((len(line) - len(line.lstrip()) for _, line in block if line.strip()), default=0)
        block = [(number, line[indent:]) for number, line in block]
        unused = {beginning for beginning, _ in marks}
        script = [(block[0][0], "\n".join(line for _, line in block))] if fence else None
        for number, text in script or cls.lines(block):
            reason = next((reason for beginning, reason in marks if text.startswith(beginning)), None)
            unused -= {beginning for beginning, _ in marks if text.startswith(beginning)}
            section.commands.append(Command(section, number, text, reason))
        if unused:
            raise Broken(f"{section.page}, {section.title}: no command begins with what is marked: {sorted(unused)}")

    @staticmethod
    def lines(block):
        """The commands of a block that has one on each line."""
        waiting = ""
        for number, line in block:
            if not line.strip() or (line.startswith(" ") and not waiting):
                continue  # A remark that goes on.
            text, _ = split_remark(waiting + line.strip() if waiting else line)
            if text.endswith("\\"):
                waiting = text[:-1].rstrip() + " "
                continue
            waiting = ""
            if not text.startswith("#"):
                yield number, text

    def section(self, title):
        found = [section for section in self.sections if section.title == title]
        if not found:
            raise Broken(f"{self.name} has no section \"{title}\"")
        return found[0]


def read_pages(folder):
    """All pages of the test, by name."""
    return {name: Page(folder, name, titles) for name, titles in PAGES.items()}
