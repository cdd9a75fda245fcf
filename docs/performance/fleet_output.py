"""What fleet.py shows: tables in Markdown, and lines over two logarithmic axes as SVG."""
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 880, 520, 78, 210, 64, 62
COLOURS = ["#1b6ca8", "#c8553d", "#3a7d44"]
STYLE = """<style>
text { font: 13px "DejaVu Sans", Arial, sans-serif; fill: #222 }
.title { font-size: 16px; font-weight: bold } .small { font-size: 12px; fill: #555 }
.grid { stroke: #ddd } .axis { stroke: #444 } .line { fill: none; stroke-width: 2.2 }
</style>"""


def words(seconds):
    """A time as a person would say it."""
    if seconds == math.inf:
        return "never"
    for unit, least, name in ((3_600, 7_200, "h"), (60, 120, "min"), (1, 1, "s"), (1e-3, 1e-3, "ms"), (1e-6, 0, "us")):
        if seconds >= least:
            return f"{seconds / unit:.3g} {name}"


def data(size):
    """A number of bytes as a person would say it."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.3g} B"


def table(head, rows):
    """A table of a page."""
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


class Axes:
    """Places on the picture for values on two logarithmic axes."""

    def __init__(self, across, up):
        self.across, self.up = [math.log(end) for end in across], [math.log(end) for end in up]

    def x(self, value):
        part = (math.log(value) - self.across[0]) / (self.across[1] - self.across[0])
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        part = (math.log(value) - self.up[0]) / (self.up[1] - self.up[0])
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def text(x, y, content, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{content}</text>'


def segment(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def spread(places, distance):
    """The places, from the top, moved down where one is nearer to the one before than `distance`."""
    moved = []
    for place in places:
        moved.append(max(place, moved[-1] + distance) if moved else place)
    return moved


def plot(title, subtitle, below, labels, ticks, lines, across, up):
    """The picture as text.

    `below` is what the lower axis shows, `labels` are its (value, text, second line), `ticks` the (value, text) of the
    upright one. `lines` are (name, colour number, dash or "", [(x, y)]).
    """
    axes = Axes(across, up)
    end, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">',
        STYLE, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(LEFT, 26, title, "title"), text(LEFT, 46, subtitle, "small")]
    for value, words in ticks:
        parts.append(segment(LEFT, axes.y(value), end, axes.y(value), "grid"))
        parts.append(text(LEFT - 8, axes.y(value) + 4, words, anchor="end"))
    for value, words, second in labels:
        parts.append(segment(axes.x(value), TOP, axes.x(value), floor, "grid"))
        parts.append(text(axes.x(value), floor + 20, words, anchor="middle"))
        parts.append(text(axes.x(value), floor + 36, second, "small", anchor="middle"))
    parts += [segment(LEFT, TOP, LEFT, floor, "axis"), segment(LEFT, floor, end, floor, "axis")]
    parts.append(text((LEFT + end) / 2, HEIGHT - 8, below, "small", "middle"))
    lines = sorted(lines, key=lambda line: axes.y(line[3][-1][1]))
    places = spread([axes.y(points[-1][1]) + 4 for _, _, _, points in lines], 17)
    for (name, colour, dash, points), place in zip(lines, places):
        shape = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline points="{shape}" class="line" stroke="{COLOURS[colour]}"{dashed}/>')
        for x, y in points:
            parts.append(f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="3.2" fill="{COLOURS[colour]}"/>')
        parts.append(f'<line x1="{end + 12}" y1="{place - 4:.1f}" x2="{end + 38}" y2="{place - 4:.1f}" class="line" '
                     f'stroke="{COLOURS[colour]}"{dashed}/>')
        parts.append(text(end + 44, place, name))
    return "\n".join(parts + ["</svg>", ""])
