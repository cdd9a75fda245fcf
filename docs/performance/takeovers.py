#!/usr/bin/env python3
"""Draws the pauses of "lockstep-lab bench p11" as cumulative distributions, one line for each way in which a node ends.

    lockstep-lab bench p11 --kills 250 --takeover-file takeovers.csv
    docs/performance/takeovers.py takeovers.csv docs/performance/takeovers.svg "where it was measured"

Plain Python, nothing to install. The time is logarithmic; a line goes up by the share of the pauses that were as short.
"""

import csv
import html
import math
import sys

WIDTH, HEIGHT = 900, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 40, 110, 80
COLOURS = ["#1657b8", "#0d8a6a", "#b8401f", "#7a3fb0", "#8a6d0d", "#444444"]
MARKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
SHARES = [0, 0.25, 0.5, 0.75, 0.9, 1]


def read(path):
    ends = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            ends.setdefault(row["end"], []).append(float(row["seconds"]))
    return {end: sorted(values) for end, values in ends.items()}


def draw(ends, where):
    values = [value for pauses in ends.values() for value in pauses]
    low = max([mark for mark in MARKS if mark <= min(values)], default=MARKS[0])
    high = min([mark for mark in MARKS if mark > max(values)], default=MARKS[-1])
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(seconds):
        seconds = min(max(seconds, low), high)
        return LEFT + (math.log(seconds) - math.log(low)) / (math.log(high) - math.log(low)) * (right - LEFT)

    def y(share):
        return bottom - share * (bottom - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]

    def text(place_x, place_y, words, anchor="middle", colour="#222222", size=13):
        parts.append(
            f'<text x="{place_x:.1f}" y="{place_y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">'
            f"{html.escape(words)}</text>"
        )

    def line(x1, y1, x2, y2, colour="#dddddd", width=1):
        parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'
        )

    for mark in (mark for mark in MARKS if low <= mark <= high):
        line(x(mark), TOP, x(mark), bottom)
        text(x(mark), bottom + 20, f"{mark * 1_000:g} ms" if mark < 1 else f"{mark:g} s")
    for share in SHARES:
        line(LEFT, y(share), right, y(share))
        text(LEFT - 8, y(share) + 4, f"{share:.0%}", anchor="end")
    line(LEFT, bottom, right, bottom, "#222222")
    line(LEFT, TOP, LEFT, bottom, "#222222")
    text((LEFT + right) / 2, bottom + 44, "time without an acknowledgement")
    text(WIDTH / 2, HEIGHT - 12, where, colour="#555555", size=12)
    for index, (end, pauses) in enumerate(ends.items()):
        colour = COLOURS[index % len(COLOURS)]
        points, share = [(x(pauses[0]), y(0))], 0
        for number, pause in enumerate(pauses, start=1):
            points.append((x(pause), y(share)))
            share = number / len(pauses)
            points.append((x(pause), y(share)))
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        column, row = index % 2, index // 2
        place_x, place_y = LEFT + 10 + column * 410, 26 + row * 22
        line(place_x, place_y - 4, place_x + 34, place_y - 4, colour, 2)
        text(place_x + 42, place_y, f"{end}: {len(pauses)}", anchor="start")
    parts.append("</svg>\n")
    return "\n".join(parts)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: takeovers.py PAUSES.csv PICTURE.svg [WHERE]")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(read(sys.argv[1]), sys.argv[3] if len(sys.argv) == 4 else ""))


if __name__ == "__main__":
    main()
