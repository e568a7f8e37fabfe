"""Draw a row on its way through the packages: docs/figures/house.svg."""

from pathlib import Path

INK, PALE, BLUE, GREEN = "#222222", "#F5F7FA", "#0072B2", "#009E73"

# x, y, width, title, lines below it.
STATIONS = [
    (20, "Source → Rows", "data", ["blocks of rows inside", "the region, each with", "its BorderView"]),
    (235, "Equations", "matching", ["e_i(θ) of every row;", "sums A and b if e", "is linear in θ"]),
    (450, "θ̂", "matching", ["solve, combine,", "search, maximise"]),
    (665, "Fit", "inference", ["influence, covariance,", "regions, intervals,", "tests, bootstrap"]),
    (880, "summary, plot, report", "display", ["words, pictures,", "pages, JSON"]),
]
KINDS = [
    (20, "Manifold", "tangents, distances, charts, views", (110,)),
    (280, "Region", "signed distance to the border", (110, 325)),
    (540, "Weight, WeightPolicy", "W and div W; which to use", (325,)),
    (800, "Model", "log p and its derivatives, the set of θ", (325, 540)),
]


def text(x, y, words, size=14, colour=INK, weight="normal", anchor="middle"):
    style = f'font-size="{size}" fill="{colour}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def box(x, y, width, height, edge):
    style = f'rx="8" fill="{PALE}" stroke="{edge}" stroke-width="1.5"'
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" {style}/>'


def arrow(x1, y1, x2, y2, colour):
    ends = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
    return f'<line {ends} stroke="{colour}" stroke-width="1.6" marker-end="url(#tip)"/>'


def draw():
    parts = []
    for k, (x, title, package, lines) in enumerate(STATIONS):
        parts.append(box(x, 40, 180, 120, BLUE))
        parts.append(text(x + 90, 66, title, 16, BLUE, "bold"))
        parts += [text(x + 90, 92 + 19 * row, words, 13) for row, words in enumerate(lines)]
        parts.append(text(x + 90, 30, package, 13, "#666666"))
        if k:
            parts.append(arrow(x - 35, 100, x - 3, 100, INK))
    for x, title, words, targets in KINDS:
        parts.append(box(x, 240, 240, 64, GREEN))
        parts.append(text(x + 120, 266, title, 15, GREEN, "bold"))
        parts.append(text(x + 120, 288, words, 12.5))
        parts += [arrow(x + 120, 238, target, 164, GREEN) for target in targets]
    parts.append(
        text(
            20,
            330,
            "Green: one file for each kind. Blue: written once, for all of them.",
            13,
            "#666666",
            anchor="start",
        )
    )
    marker = (
        '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L10 5 L0 10 z" fill="#555555"/></marker>'
    )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1080 345" font-family="Helvetica, Arial, sans-serif">'
    body = "\n".join(parts)
    background = '<rect width="1080" height="345" fill="white"/>'
    return f"{head}\n<defs>{marker}</defs>\n{background}\n{body}\n</svg>\n"


if __name__ == "__main__":
    (Path(__file__).parent / "house.svg").write_text(draw())
