#!/usr/bin/env python3
"""Writes the figures of "lockstep-lab bench --output FILE" into FIGURES.md and ../PERFORMANCE.md, between their marks.

    lockstep-lab bench all --output figures.json
    docs/performance/table.py figures.json

FIGURES.md gets a section for each case. PERFORMANCE.md gets one table of all cases but the curve and the growth, the
goals that were missed first. Several files are put together: each case is taken from the last file that has it. A case
that none of them has stays as it is, with its date. Without a file only the table is written, from FIGURES.md.
"""

import json
import pathlib
import re
import sys

FIGURES = pathlib.Path(__file__).resolve().parent / "FIGURES.md"
SUMMARY = FIGURES.parent.parent / "PERFORMANCE.md"
BEGIN, END = "<!-- figures begin -->\n", "<!-- figures end -->\n"
ORDER = ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "watched", "scraped", "idle", "curve", "growth"]
SHORT = {
    "p1": "P1 throughput", "p2": "P2 latency", "p3": "P3 apply", "p4": "P4 join", "p5": "P5 restart", "p6": "P6 memory",
    "p7": "P7 replicas", "p8": "P8 reads", "p9": "P9 observer", "p10": "P10 data nodes",
    "p11": "P11 takeover", "watched": "Watches", "scraped": "Scraped", "idle": "Idle",
}


def number(value):
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def measured(value, unit):
    return f"{number(value)} {unit}".strip()


def spelled(text):
    """The text with commas in its long numbers."""
    return re.sub(r"(?<![\d.,])\d{4,}", lambda digits: f"{int(digits[0]):,}", text)


def rows(case):
    for figure in case["figures"]:
        peer, goal = figure.get("peer"), figure.get("goal", "")
        if "isReached" in figure:
            goal += ": reached" if figure["isReached"] else ": **missed**"
        yield [
            spelled(figure["what"]),
            measured(figure["value"], figure["unit"]),
            f'{peer["name"]} {number(peer["value"])}' if peer else "",
            f'{figure["ratio"]:.2f}' if "ratio" in figure else "",
            spelled(goal),
        ]


def known(text):
    """The sections that the page has, by the name of their case."""
    sections = ("## " + section for section in text.split("## ")[1:])
    return {section.split(maxsplit=2)[1].rstrip(":").lower(): section.strip() for section in sections}


def page(cases, old):
    lines = []
    for name in ORDER:
        if name not in cases:
            lines += [old[name], ""] if name in old else []
            continue
        case, report = cases[name]
        lines += [f'## {name.upper() if name[1:].isdigit() else name.capitalize()}: {case["title"]}', ""]
        lines += [f'{report["machine"]}, {report["system"]}; {", ".join(report["versions"])}; {report["date"][:10]}.', ""]
        lines += ["| what | Lockstep | peer | ratio | goal |", "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows(case)]
        lines += ["", "| | durability | replicas | load | checked |", "|---|---|---|---|---|"]
        for setting in case["settings"]:
            keys = ["name", "durability", "replicas", "load", "checked"]
            lines.append("| " + " | ".join(spelled(setting[key]) for key in keys) + " |")
        lines += [""] + [line for note in case["notes"] for line in (spelled(note[0].upper() + note[1:]) + ".", "")]
    return "\n".join(lines)


def summary(sections):
    """All figures of the cases that have a short name: goals missed, goals reached, figures without a goal."""
    found = []
    for name, short in SHORT.items():
        table = sections.get(name, "").partition("|---|---|---|---|---|\n")[2].partition("\n\n")[0]
        for line in table.splitlines():
            what, own, peer, ratio, goal = (cell.strip() for cell in line.strip("|").split("|"))
            rank = 0 if "missed" in goal else 1 if goal else 2
            found.append((rank, [short, what, own, peer, ratio, goal]))
    found.sort(key=lambda row: row[0])
    lines = ["| case | figure | Lockstep | peer | ratio | goal |", "|---|---|---|---|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for _, row in found]) + "\n"


def parts(path):
    """What stands before, between and after the marks of a page."""
    head, rest = path.read_text(encoding="utf-8").split(BEGIN)
    return head, *rest.split(END)


def main():
    cases = {}
    for path in sys.argv[1:]:
        report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        if report["isQuick"]:
            sys.exit(f"{path} was made with --quick: its figures mean nothing")
        cases.update({case["name"]: (case, report) for case in report["cases"]})
    head, old, tail = parts(FIGURES)
    new = page(cases, known(old)).rstrip("\n") + "\n"
    FIGURES.write_text(head + BEGIN + "\n" + new + "\n" + END + tail, encoding="utf-8")
    head, _, tail = parts(SUMMARY)
    SUMMARY.write_text(head + BEGIN + "\n" + summary(known(new)) + "\n" + END + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
