"""A picture of a run: rate, latency and lag over time, faults as bands."""
import html

WIDTH, LEFT, RIGHT, TOP, PANEL, GAP = 1200, 70, 20, 70, 150, 40
COLOURS = ["#1f6f8b", "#c8553d", "#588157", "#7b5ea7", "#b58900"]
KINDS = (("kill", "#c8553d"), ("host", "#c8553d"), ("cut", "#1f6f8b"), ("pause", "#7b5ea7"), ("clock", "#b58900"),
         ("disk", "#588157"), ("sync", "#588157"), ("fail", "#588157"))


def colour_of(nemesis):
    """The colour of a fault's band."""
    return next((colour for part, colour in KINDS if part in nemesis), "#888888")


class Panel:
    """One diagram above the common axis of time."""

    def __init__(self, title, number, length, highest):
        self.top = TOP + number * (PANEL + GAP)
        self.length, self.highest, self.title = max(length, 1), max(highest, 1e-9), title
        self.parts = []

    def x(self, at):
        return LEFT + (WIDTH - LEFT - RIGHT) * at / self.length

    def y(self, value):
        return self.top + PANEL * (1 - min(value, self.highest) / self.highest)

    def line(self, points, colour, name, place):
        if not points:
            return
        path = " ".join(f"{self.x(at):.1f},{self.y(value):.1f}" for at, value in points)
        self.parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.4" points="{path}"/>')
        self.parts.append(f'<text x="{WIDTH - RIGHT - 8 - 90 * place}" y="{self.top - 6}" fill="{colour}" '
                          f'text-anchor="end">{html.escape(name)}</text>')

    def svg(self):
        frame = [f'<text x="{LEFT}" y="{self.top - 6}" font-weight="bold">{html.escape(self.title)}</text>']
        for part in (0, 0.5, 1):
            value, height = self.highest * part, self.top + PANEL * (1 - part)
            frame.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height}" y2="{height}" stroke="#ddd"/>')
            frame.append(f'<text x="{LEFT - 6}" y="{height + 4}" text-anchor="end">{value:,.0f}</text>')
        steps = (5, 10, 20, 30, 60, 120, 300, 600, 3600)
        step = next((step for step in steps if self.length / step <= 16), 3600)
        for tick in range(0, int(self.length) + 1, step):
            frame.append(f'<text x="{self.x(tick):.1f}" y="{self.top + PANEL + 14}" text-anchor="middle">{tick}</text>')
        return "\n".join(frame + self.parts)


def quantile(values, part):
    """The value below which a part of the sorted values lies; None of none."""
    return sorted(values)[min(len(values) - 1, int((len(values) - 1) * part + 0.5))] if values else None


def picture(report):
    """The picture as SVG."""
    operations, faults, length = report.operations, report.raw["faults"], report.seconds
    width = max(0.5, length / 400)
    rate, slow = {}, {}
    for began, ended, answered, _, count in operations:
        if answered:
            rate[int(ended / width)] = rate.get(int(ended / width), 0) + count
            slow.setdefault(int(ended / width), []).append(1000 * (ended - began))
    last = int(max([ended or 0 for _, ended, *_ in operations], default=0) / width)
    rates = [(step * width, rate.get(step, 0) / width) for step in range(last + 1)]
    middles = [(step * width, quantile(values, 0.5)) for step, values in sorted(slow.items())]
    highs = [(step * width, quantile(values, 0.99)) for step, values in sorted(slow.items())]
    lags = {}
    for sample in report.raw["samples"]:
        if "lag" in sample and (sample["node"] != "a" or report.options.data_nodes):
            lags.setdefault(sample["node"], []).append((sample["at"], sample["lag"]))
    panels = [
        Panel("acknowledged operations a second", 0, length, max([r for _, r in rates], default=1)),
        Panel("latency in milliseconds", 1, length, min(2000, max([v for _, v in highs], default=1))),
        Panel("lag of nodes in entries", 2, length,
              max([lag for points in lags.values() for _, lag in points], default=1)),
    ]
    panels[0].line(rates, COLOURS[0], "all clients", 0)
    panels[1].line(highs, COLOURS[1], "p99", 0)
    panels[1].line(middles, COLOURS[0], "p50", 1)
    for number, (node, points) in enumerate(sorted(lags.items())):
        panels[2].line(points, COLOURS[number % len(COLOURS)], f"node {node}", number)
    height = TOP + len(panels) * (PANEL + GAP)
    bands = []
    for fault in faults:
        x, end = panels[0].x(fault["at"]), panels[0].x(fault["healed"])
        note = f"{fault['nemesis']} {fault.get('target', '')} at {fault['at']:.1f} s, fired {fault['fired']}"
        bands.append(f'<rect x="{x:.1f}" y="{TOP}" width="{max(1.5, end - x):.1f}" height="{height - TOP - GAP}" '
                     f'fill="{colour_of(fault["nemesis"])}" opacity="0.15"><title>{html.escape(note)}</title></rect>')
        if len(faults) <= 40:
            bands.append(f'<text x="{x + 2:.1f}" y="{TOP + 4}" font-size="9" fill="#444" '
                         f'transform="rotate(90 {x + 2:.1f} {TOP + 4})">{html.escape(fault["nemesis"])}</text>')
    title = (f"{report.verdict}: {', '.join(report.options.workloads)}; seed {report.options.seed}; "
             f"{report.figures['operations']:,} operations, {len(faults)} faults in {length:.0f} s")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11" fill="#222">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n<text x="{LEFT}" y="28" font-size="16">'
            f'{html.escape(title)}</text>\n'
            f'<text x="{LEFT}" y="46" fill="#666">seconds since the start; bands: faults</text>\n'
            + "\n".join(bands) + "\n" + "\n".join(panel.svg() for panel in panels) + "\n</svg>\n")
