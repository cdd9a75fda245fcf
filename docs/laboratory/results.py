#!/usr/bin/env python3
"""Writes what series of runs in the laboratory came to into docs/LAB-RESULTS.md, between its two marks.

    deploy/lab scenario kills --output data/lab/kills
    docs/laboratory/results.py kills=data/lab/kills/series.json cuts=data/lab/cuts/series.json

A name may come several times, with another file each.
"""

import json
import pathlib
import statistics
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "LAB-RESULTS.md"
BEGIN, END = "<!-- results begin -->\n", "<!-- results end -->\n"
CUTS = ("cut", "cut-halves", "cut-direction", "cut-port")


def table(head, rows):
    """A table of Markdown; the columns after the first are figures."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def span(values):
    """What numbers there are, as one word: of a run of seeds its ends."""
    values = sorted(set(values))
    whole = values == list(range(values[0], values[-1] + 1))
    return f"{values[0]} to {values[-1]}" if whole and len(values) > 1 else ", ".join(map(str, values))


def series_rows(series):
    total = [0, 0, 0, 0, 0.0]
    for name, runs in series:
        seconds = sum(entry["seconds"] for run in runs for entry in run["figures"]["nemeses"].values())
        figures = [len(runs), sum(run["verdict"] == "passed" for run in runs),
                   sum(run["figures"]["operations"] for run in runs),
                   sum(run["acknowledged"] or 0 for run in runs), seconds]
        total = [a + b for a, b in zip(total, figures)]
        yield [name, ", ".join(sorted({run["commit"] for run in runs})), span([run["seed"] for run in runs]),
               *(f"{figure:,}" for figure in figures[:4]), f"{seconds / 60:,.1f}"]
    yield ["**all**", "", "", *(f"{figure:,}" for figure in total[:4]), f"{total[4] / 60:,.1f}"]


def nemesis_rows(runs):
    found = {}
    for run in runs:
        for name, entry in run["figures"]["nemeses"].items():
            known = found.setdefault(name, [0, 0, 0.0, []])
            for place, key in enumerate(("faults", "fired", "seconds")):
                known[place] += entry[key]
            known[3] += [time for time in entry["recoveries"] if time is not None]
    for name, (faults, fired, seconds, times) in sorted(found.items()):
        middle, most = (f"{value(times):.2f}" if times else "" for value in (statistics.median, max))
        yield [name, f"{faults:,}", f"{fired:,}", f"{seconds / 60:.1f}", middle, most]


def check_rows(runs):
    found = {}
    for run in runs:
        for check in run["checks"]:
            known = found.setdefault(check["name"], [0, 0, 0])
            for place, count in enumerate((check["checked"], len(check["findings"]), len(check["undecided"]))):
                known[place] += count
    for name, counts in found.items():
        yield [name, *(f"{count:,}" for count in counts)]


def page(series):
    runs = [run for _, group in series for run in group]
    lines = ["### Series", ""] + table(
        ["series", "commit", "seeds", "runs", "passed", "operations", "acknowledged writes", "minutes of faults"],
        series_rows(series))
    problems = [f"seed {run['seed']}: {text}" for run in runs for text in run["problems"] + run["invalid"]]
    lines += ["What did not pass:", ""] + ["- " + text for text in problems] + [""] if problems else \
        ["Nothing was violated, and no run was invalid.", ""]
    lines += ["### Faults", ""] + table(
        ["nemesis", "faults", "fired", "minutes", "s until all nodes serve, median", "most"], nemesis_rows(runs))
    cuts = [fault for run in runs for fault in run["faults"] if fault["nemesis"] in CUTS]
    if cuts:
        judged = [fault for fault in cuts if not fault["overtaken"]]
        writes = sorted(fault["writesAfter"] for fault in judged if fault["writesAfter"] is not None)
        equal = sorted(fault["recovered"] for fault in cuts if fault["recovered"] is not None)
        lines += [f"Of {len(cuts)} cuts, {sum(fault['nemesis'] == 'cut-direction' for fault in cuts)} were in one "
                  f"direction. From the end of a cut to the next acknowledged write {statistics.median(writes):.2f} s in "
                  f"the median and {writes[-1]:.2f} s at most, without the {len(cuts) - len(judged)} after which the "
                  f"next fault began before a write came; until all replicas were equal "
                  f"{statistics.median(equal):.2f} and {equal[-1]:.2f} s.", ""]
    lines += ["### Checks", ""] + table(["check", "compared", "findings", "undecided"], check_rows(runs))
    return "\n".join(lines)


def main():
    pairs = [argument.partition("=") for argument in sys.argv[1:]]
    if not pairs or any(not mark for _, mark, _ in pairs):
        sys.exit("usage: results.py NAME=series.json ...")
    series = [(name, json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["runs"]) for name, _, path in pairs]
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:start] + "\n" + page(series) + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
