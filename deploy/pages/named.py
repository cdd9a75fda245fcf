"""Commands that a text or a table of the pages names: they are compared with the help of their program."""
import re

from .operating import PAGE
from .source import Broken


class Helps:
    """The help of each command of a program on a host."""

    def __init__(self, host, path):
        self.host, self.path, self.name, self.texts = host, path, path.split("/")[-1], {}

    def text(self, words):
        """What `help` prints of a command; nothing if there is none of this name."""
        key = " ".join(words)
        if key not in self.texts:
            printed = self.host.run(f"{self.path} help {key}").output
            is_known = re.search(rf"^USAGE: {self.name} {key}(?![a-z])".replace("  ", " "), printed, re.MULTILINE)
            self.texts[key] = printed if is_known or not words else ""
        return self.texts[key]

    def problem(self, text):
        """What is wrong with a command; None if the program has it, with its options."""
        words = re.sub("^sudo -u lockstep ", "", text).split()[1:]
        path = []
        for word in words:
            if not re.fullmatch("[a-z]+", word) or not self.text(path + [word]):
                break
            path.append(word)
        if path == ["help"] or (not path and words[0] == "help"):
            return None
        printed = self.text(path)
        left = words[len(path):]
        takes_more = not path or re.search(r"^USAGE: .*<subcommand>", printed, re.MULTILINE)
        if takes_more and left and re.fullmatch("[a-z]+", left[0]):
            return f"there is no command {left[0]}"
        for option in [word.strip(".,;") for word in left if word.startswith("--")]:
            if not re.search(rf"(?<![\w-]){option}(?![\w-])", printed):
                return f"the command has no option {option}"
        return None


def compare(book, host):
    """Every command of these programs that is in backquotes, and those that section 12 lists."""
    helps, problems = Helps(host, "lockstep"), []
    lab = Helps(host, ".build/release/lockstep-lab")
    for page in book.pages.values():
        for section in page.sections:
            for command in section.quoted:
                named = re.match("(?:sudo -u lockstep )?(lockstep(?:-lab)?) |(deploy/[a-z-]+)", command.whole)
                if not named:
                    continue
                if named[2]:
                    problem = host.root(f"test -x {named[2]}").status and "there is no such file"
                else:
                    problem = (lab if named[1] == "lockstep-lab" else helps).problem(command.whole)
                command.is_compared = not problem
                if problem:
                    problems.append(f"{command.place}: {command.text}: {problem}")
    host.must("rm .build/release/lockstep-lab")
    listed = book.section(PAGE, "12. Command line")
    for names in re.findall("`([a-z |]+)`", listed.lines[0]):
        first, *rest = names.split()
        for last in rest[0].split("|") if rest else [""]:
            if first != "lockstep" and not helps.text([first] + ([last] if last else [])):
                problems.append(f"{listed.page}, {listed.title}: there is no command {first} {last}")
    if problems:
        raise Broken("\n    ".join(problems))
    book.check(listed, "the program has every command that the pages name, with its options", True)
