#!/usr/bin/env python3
"""Draws throughput against latency from the points of "lockstep-lab bench curve".

    lockstep-lab bench curve --curve-file points.csv
    docs/performance/plot.py points.csv docs/performance/throughput-latency.svg "where it was measured"

Plain Python, nothing to install. Both axes are logarithmic; each point is labelled with the actions in flight.
"""

import csv
import html
import math
import sys

WIDTH, HEIGHT = 900, 560
LEFT, RIGHT, TOP, BOTTOM = 90, 50, 70, 90
COLOURS = {"lockstep": "#1657b8", "redis": "#b8401f"}
LINES = [("p50_microseconds", "p50", ""), ("p99_microseconds", "p99", "6 4")]


def read(path):
    systems = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            point = {key: float(value) for key, value in row.items() if key != "system"}
            systems.setdefault(row["system"], []).append(point)
    return systems


def decades(low, high):
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def number(value):
    if value >= 1_000_000:
        return f"{value / 1_000_000:g} million"
    return f"{value:,.0f}"


def duration(microseconds):
    if microseconds >= 1_000_000:
        return f"{microseconds / 1_000_000:g} s"
    return f"{microseconds / 1_000:g} ms" if microseconds >= 1_000 else f"{microseconds:g} us"


def draw(systems, where):
    points = [point for rows in systems.values() for point in rows]
    rates = decades(min(p["per_second"] for p in points), max(p["per_second"] for p in points))
    times = decades(min(p["p50_microseconds"] for p in points), max(p["p99_microseconds"] for p in points))

    def x(rate):
        share = (math.log10(rate) - math.log10(rates[0])) / (math.log10(rates[-1]) - math.log10(rates[0]))
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(time):
        share = (math.log10(time) - math.log10(times[0])) / (math.log10(times[-1]) - math.log10(times[0]))
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]

    def text(place_x, place_y, words, anchor="middle", colour="#222222", size=13, extra=""):
        parts.append(
            f'<text x="{place_x:.1f}" y="{place_y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"'
            f"{extra}>{html.escape(words)}</text>"
        )

    def line(x1, y1, x2, y2, colour="#dddddd"):
        parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>')

    for rate in rates:
        line(x(rate), TOP, x(rate), HEIGHT - BOTTOM)
        text(x(rate), HEIGHT - BOTTOM + 20, number(rate))
    for time in times:
        line(LEFT, y(time), WIDTH - RIGHT, y(time))
        text(LEFT - 8, y(time) + 4, duration(time), anchor="end")
    line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "#222222")
    line(LEFT, TOP, LEFT, HEIGHT - BOTTOM, "#222222")
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 44, "durable acknowledged increments a second")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    text(22, middle, "latency of what is in flight", extra=f' transform="rotate(-90 22 {middle:.0f})"')
    text(WIDTH / 2, HEIGHT - 14, where, colour="#555555", size=12)

    legend = LEFT + 10
    for system, rows in systems.items():
        colour = COLOURS.get(system, "#444444")
        rows.sort(key=lambda point: point["in_flight"])
        for key, name, dashes in LINES:
            path = " ".join(f'{x(p["per_second"]):.1f},{y(p[key]):.1f}' for p in rows)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"'
                f' stroke-dasharray="{dashes}"/>'
            )
            parts.append(
                f'<line x1="{legend}" y1="{TOP - 28}" x2="{legend + 34}" y2="{TOP - 28}" stroke="{colour}"'
                f' stroke-width="2" stroke-dasharray="{dashes}"/>'
            )
            text(legend + 42, TOP - 24, f"{system} {name}", anchor="start")
            legend += 150
        above = system != "lockstep"
        for point in rows:
            cx, cy = x(point["per_second"]), y(point["p50_microseconds"])
            parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="3.5" fill="{colour}"/>')
            text(cx, cy + (-9 if above else 18), f'{point["in_flight"]:,.0f}', colour=colour, size=11)
    text(LEFT + 10, TOP - 48, "at each point: increments in flight (closed loop)", anchor="start", colour="#555555")
    parts.append("</svg>\n")
    return "\n".join(parts)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: plot.py POINTS.csv PICTURE.svg [WHERE]")
    picture = draw(read(sys.argv[1]), sys.argv[3] if len(sys.argv) == 4 else "")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(picture)


if __name__ == "__main__":
    main()
