"""``python -m tmsm_experiments.weights.report``: the tables of docs/weights.md and its figure, from results.csv."""

import re
from pathlib import Path

from tmsm_experiments.weights.results import read

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "weights.md"
WEIGHTS = [
    "geodesic", "chordal", "projected", "saturating", "normal", "componentwise", "blocks", "constraints", "combined",
]  # fmt: skip
# From so many rows on the seeds are too few for errors, and the stated covariances are used.
STATED_FROM = 10_000
ENOUGH_FOR_COVERAGE = 100


def number(row, name):
    return float(row[name])


def efficiency(row):
    return number(row, "stated" if int(row["n"]) >= STATED_FROM else "efficiency")


def percent(value):
    return f"{100 * value:.0f}"


def lookup(rows):
    return {(row["setting"], row["weight"], int(row["n"])): row for row in rows}


def default_table(rows):
    """What weight="auto" reaches at each n: efficiency, and the coverage of its interval."""
    found = lookup(rows)
    sizes = sorted({n for _, _, n in found})
    lines = [
        "| setting | " + " | ".join(f"n = {n:,}" for n in sizes) + " |",
        "| --- |" + " --- |" * len(sizes),
    ]
    for setting in dict.fromkeys(row["setting"] for row in rows):
        cells = []
        for n in sizes:
            row = found.get((setting, "auto", n))
            if row is None:
                cells.append("–")
                continue
            covers = f" ({percent(number(row, 'coverage'))})" if int(row["seeds"]) >= ENOUGH_FOR_COVERAGE else ""
            cells.append(percent(efficiency(row)) + covers)
        lines.append(f"| {setting} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def weights_table(rows, n):
    """Every weight's efficiency at one n; the best is in bold."""
    found = lookup(rows)
    lines = ["| setting | " + " | ".join(WEIGHTS) + " |", "| --- |" + " --- |" * len(WEIGHTS)]
    for setting in dict.fromkeys(row["setting"] for row in rows):
        values = {w: efficiency(found[setting, w, n]) for w in WEIGHTS if (setting, w, n) in found}
        best = max(values.values())
        cells = []
        for weight in WEIGHTS:
            if weight not in values:
                cells.append("–")
            else:
                text = percent(values[weight])
                cells.append(f"**{text}**" if values[weight] == best else text)
        lines.append(f"| {setting} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def tables(rows):
    return {
        "default": default_table(rows),
        "weights at 300": weights_table(rows, 300),
        "weights at 10,000": weights_table(rows, 10_000),
    }


def write_page(text, found):
    """Put every table between its two marks."""
    for name, table in found.items():
        pattern = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", flags=re.DOTALL)
        text, count = pattern.subn(lambda match, table=table: f"{match[1]}\n{table}\n\n{match[2]}", text)
        if count != 1:
            raise ValueError(f"{PAGE.name} has {count} places for the table {name!r}.")
    return text


def draw(rows, path):
    import matplotlib.pyplot as plt

    found = lookup(rows)
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    sizes = sorted({n for _, _, n in found})
    colours = {
        "geodesic": "#c0392b", "projected": "#e59866", "saturating": "#b7950b", "normal": "#1f618d",
        "componentwise": "#148f77", "blocks": "#58d68d", "constraints": "#e84393", "combined": "#6c3483",
    }  # fmt: skip
    columns = 4
    lines = len(settings) // columns + 1  # one place is left for the legend
    fig, axes = plt.subplots(lines, columns, figsize=(11, 0.6 + 2.2 * lines), sharex=True, sharey=True)
    for ax, setting in zip(axes.flat, settings, strict=False):
        for weight, colour in colours.items():
            points = [(n, efficiency(found[setting, weight, n])) for n in sizes if (setting, weight, n) in found]
            if points:
                ax.plot(*zip(*points, strict=True), "o-", color=colour, ms=3, lw=1.3, label=weight)
        points = [(n, efficiency(found[setting, "auto", n])) for n in sizes if (setting, "auto", n) in found]
        ax.plot(*zip(*points, strict=True), color="black", lw=5, alpha=0.18, label="auto", zorder=0)
        ax.axhline(1.0, color="0.5", lw=0.8, ls="--")
        ax.set_title(setting, fontsize=10)
        ax.set(xscale="log", ylim=(0.0, 1.25))
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelbottom=True, labelsize=8)
    for ax in list(axes.flat)[len(settings) :]:
        ax.set_axis_off()
    handles = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    order = [name for name in (*colours, "auto") if name in handles]
    list(axes.flat)[-1].legend([handles[name] for name in order], order, loc="center", frameon=False)
    fig.supxlabel("rows")
    fig.supylabel("efficiency against the exact likelihood or the Cramér–Rao bound")
    fig.tight_layout()
    fig.savefig(path, dpi=120)


def main():
    rows = read()
    PAGE.write_text(write_page(PAGE.read_text(), tables(rows)))
    draw(rows, ROOT / "docs" / "figures" / "weights.png")


if __name__ == "__main__":
    main()
