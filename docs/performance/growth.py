#!/usr/bin/env python3
"""Draws the curves of "lockstep-lab bench growth": throughput and latency as functions of size, one panel for each curve.

    lockstep-lab bench growth --growth-file growth.csv
    docs/performance/growth.py growth.csv docs/performance/growth.svg "where it was measured"

Plain Python, nothing to install. Both axes are logarithmic; the left one is the rate, the right one the latency of an
array.
"""

import csv
import html
import math
import sys

from plot import decades, duration, number

WIDTH, HEIGHT, COLUMNS = 440, 300, 2
LEFT, RIGHT, TOP, BOTTOM = 84, 74, 46, 54
RATE, TIME = "#1657b8", "#b8401f"
UNITS = {"counters": "counters in the state", "value bytes": "bytes of a value", "sessions": "sessions",
         "replicas": "replicas", "journal entries": "entries in the journal"}


def read(path):
    curves = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values = [float(row[key]) for key in ("size", "per_second", "p50_microseconds", "p99_microseconds")]
            curves.setdefault(row["curve"], []).append(values)
    return curves


def place(value, marks, start, end):
    low, high = math.log10(marks[0]), math.log10(marks[-1])
    return start + (math.log10(value) - low) / (high - low or 1) * (end - start)


def panel(name, rows, left, top):
    parts = []

    def text(x, y, words, anchor="middle", colour="#222222", size=11):
        parts.append(f'<text x="{left + x:.1f}" y="{top + y:.1f}" text-anchor="{anchor}" fill="{colour}"'
                     f' font-size="{size}">{html.escape(words)}</text>')

    def line(x1, y1, x2, y2, colour="#dddddd"):
        parts.append(f'<line x1="{left + x1:.1f}" y1="{top + y1:.1f}" x2="{left + x2:.1f}" y2="{top + y2:.1f}"'
                     f' stroke="{colour}"/>')

    sizes = decades(min(row[0] for row in rows), max(row[0] for row in rows))
    rates = decades(min(row[1] for row in rows), max(row[1] for row in rows))
    times = decades(min(row[2] for row in rows), max(row[3] for row in rows))
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    text((LEFT + right) / 2, 20, UNITS.get(name, name), size=13)
    for size in sizes:
        x = place(size, sizes, LEFT, right)
        line(x, TOP, x, bottom)
        text(x, bottom + 16, number(size))
    for rate in rates:
        y = place(rate, rates, bottom, TOP)
        line(LEFT, y, right, y)
        text(LEFT - 6, y + 4, number(rate) + "/s", "end", RATE)
    for time in times:
        text(right + 6, place(time, times, bottom, TOP) + 4, duration(time), "start", TIME)
    for column, colour, marks, dashes in ((1, RATE, rates, ""), (2, TIME, times, ""), (3, TIME, times, "6 4")):
        points = [(place(row[0], sizes, LEFT, right), place(row[column], marks, bottom, TOP)) for row in rows]
        path = " ".join(f"{left + x:.1f},{top + y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"'
                     f' stroke-dasharray="{dashes}"/>')
        for x, y in points:
            parts.append(f'<circle cx="{left + x:.1f}" cy="{top + y:.1f}" r="3" fill="{colour}"/>')
    return parts


def draw(curves, where):
    lines = math.ceil(len(curves) / COLUMNS)
    width, height = WIDTH * COLUMNS, HEIGHT * lines + 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
             ' font-family="Helvetica, Arial, sans-serif">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for index, (name, rows) in enumerate(curves.items()):
        parts += panel(name, sorted(rows), index % COLUMNS * WIDTH, 30 + index // COLUMNS * HEIGHT)
    parts.append(f'<text x="12" y="20" font-size="12"><tspan fill="{RATE}">mutations a second</tspan>, '
                 f'<tspan fill="{TIME}">latency of an array: p50, and p99 dashed</tspan></text>')
    parts.append(f'<text x="{width / 2}" y="{height - 12}" text-anchor="middle" font-size="12" fill="#555555">'
                 f"{html.escape(where)}</text></svg>\n")
    return "\n".join(parts)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: growth.py POINTS.csv PICTURE.svg [WHERE]")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(read(sys.argv[1]), sys.argv[3] if len(sys.argv) == 4 else ""))


if __name__ == "__main__":
    main()
