#!/usr/bin/env python3
"""Writes the figures of "lockstep bench --output FILE" into docs/PERFORMANCE.md, between its two marks.

    lockstep bench all --output figures.json
    docs/performance/table.py figures.json

Several files are put together: each case is taken from the last file that has it. A case that none of them has stays
as it is on the page, with its date.
"""

import json
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "PERFORMANCE.md"
BEGIN, END = "<!-- figures begin -->\n", "<!-- figures end -->\n"
ORDER = ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "idle", "curve", "growth"]


def number(value):
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def measured(value, unit):
    return f"{number(value)} {unit}".strip()


def rows(case):
    for figure in case["figures"]:
        peer, goal = figure.get("peer"), figure.get("goal", "")
        if "isReached" in figure:
            goal += ": reached" if figure["isReached"] else ": **missed**"
        yield [
            figure["what"],
            measured(figure["value"], figure["unit"]),
            f'{peer["name"]} {number(peer["value"])}' if peer else "",
            f'{figure["ratio"]:.2f}' if "ratio" in figure else "",
            goal,
        ]


def known(text):
    """The sections that the page has, by the name of their case."""
    sections = ("### " + section for section in text.split("### ")[1:])
    return {section.split(maxsplit=2)[1].rstrip(":").lower(): section.strip() for section in sections}


def page(cases, old):
    lines = []
    for name in ORDER:
        if name not in cases:
            lines += [old[name], ""] if name in old else []
            continue
        case, report = cases[name]
        lines += [f'### {name.upper() if name[1:].isdigit() else name.capitalize()}: {case["title"]}', ""]
        lines += [f'{report["machine"]}, {report["system"]}; {", ".join(report["versions"])}; {report["date"][:10]}.', ""]
        lines += ["| what | Lockstep | peer | ratio | goal |", "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows(case)]
        lines += ["", "| | durability | replicas | load | checked |", "|---|---|---|---|---|"]
        for setting in case["settings"]:
            keys = ["name", "durability", "replicas", "load", "checked"]
            lines.append("| " + " | ".join(setting[key] for key in keys) + " |")
        lines += [""] + [line for note in case["notes"] for line in (note[0].upper() + note[1:] + ".", "")]
    return "\n".join(lines)


def main():
    cases = {}
    for path in sys.argv[1:]:
        report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        if report["isQuick"]:
            sys.exit(f"{path} was made with --quick: its figures mean nothing")
        cases.update({case["name"]: (case, report) for case in report["cases"]})
    if not cases:
        sys.exit("usage: table.py FIGURES.json...")
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    PAGE.write_text(head + BEGIN + "\n" + page(cases, known(old)) + "\n" + END + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
