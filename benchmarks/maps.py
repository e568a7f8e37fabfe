"""Density maps against kernels at their best width, on simulated truths and on public points; the tables go to docs."""

import time
from pathlib import Path

import numpy as np

import tmsm
from scenarios import hazards, maps

PAGE = Path(__file__).parents[1] / "docs" / "maps.md"
# Truth, rows, and what the divergence of ours may be.
ASKED = (
    ("two bumps 73° apart", 500, 0.025),
    ("two bumps 73° apart", 3000, 0.0075),
    ("two bumps 73° apart", 20_000, 0.0030),
    ("two bumps 143° apart", 500, 0.024),
    ("two bumps 143° apart", 3000, 0.0060),
    ("two bumps", 10_000, 0.0022),
    ("a band", 10_000, 0.0010),
    ("a bump beyond the coast", 10_000, 0.0012),
)
SEEDS, KERNEL_SEEDS = 12, 3
# Next to the coast of the United States, root mean square error of the log density.
COAST = 0.14
# What other papers state, and what is asked of ours, in nats.
STATED = {"earthquakes": -0.19, "floods": 0.48, "fires": -1.33}
HAZARDS = {"earthquakes": -0.22, "floods": 0.48, "fires": -1.61}


def _means(found):
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def simulated(n_seeds=SEEDS, n_kernel_seeds=KERNEL_SEEDS):
    """(Truth, rows, limit, ours, kernels) for each setting, as means over seeds."""
    for name, n, limit in ASKED:
        ours = _means([maps.map_errors(name, n, seed) for seed in range(n_seeds)])
        kernels = [maps.kernel_errors(name, n, seed) for seed in range(n_kernel_seeds)]
        best = {kind: tuple(np.mean([one[kind] for one in kernels], axis=0)) for kind in kernels[0]}
        best["adaptive"] = float(np.mean([maps.adaptive_error(name, n, seed) for seed in range(n_kernel_seeds)]))
        yield name, n, limit, ours, best


def on_the_earth(n_splits=hazards.SPLITS):
    """(Name, rows, share of copies, mean score of each map, of the chosen one, how often which) for each hazard."""
    for name in hazards.NAMES:
        X = hazards.rows(name)
        found = [hazards.scores(X, tmsm.Everywhere(tmsm.Sphere(2)), seed) for seed in range(n_splits)]
        chosen = float(np.mean([scores[which] for scores, which in found]))
        yield name, len(X), hazards.copies(X), _means([scores for scores, _ in found]), chosen


def inside_borders(n_splits=hazards.SPLITS):
    """(Name, words, rows, mean score of each map, of the chosen one, and of kernels that ignore the border)."""
    for name, (words, border) in hazards.borders().items():
        X = hazards.rows(name)
        X = X[border.contains(X)]
        found = [hazards.scores(X, border, seed) for seed in range(n_splits)]
        ignored = float(np.mean([hazards.score_without_border(X, seed) for seed in range(n_splits)]))
        chosen = float(np.mean([scores[which] for scores, which in found]))
        yield name, words, len(X), _means([scores for scores, _ in found]), chosen, ignored


def seconds(n=100_000):
    """Seconds of a map of degree 12 of n rows in the United States, its smoothing chosen, nodes built anew."""
    found = maps.truth("two bumps")
    X = found.rows(n, 0)
    tmsm.DensityMap(found.region, degree=12).fit(X[:1000])  # compiles
    region = tmsm.datasets.load_border("usa")
    start = time.perf_counter()
    tmsm.DensityMap(region, degree=12).fit(X)
    return time.perf_counter() - start


def map_rows():
    """Lines of the table: name, value, unit, and the limits that it should be within; the page is written too."""
    lines, table = [], [["truth and region, n", "kernel", "cut", "reflected", "`AdaptiveKernel`", "`DensityMap`"]]
    coast = [["within 50 km of the coast", "kernel", "cut", "reflected", "`DensityMap`"]]
    bands = []
    for name, n, limit, ours, kernels in simulated():
        plain, cut, reflected = (kernels[kind] for kind in ("kernel", "corrected", "reflected"))
        lines += [
            (f"{name}, n = {n:,}: divergence of ours", ours["divergence"], "nats", (0, limit)),
            ("… over that of kernels, cut, at their best width", ours["divergence"] / cut[0], "times", (0, 1)),
        ]
        where = "United States" if maps.FUNCTIONS[name][1] == "usa" else "hemisphere"
        numbers = [f"{value:.4f}" for value in (plain[0], cut[0], reflected[0], kernels["adaptive"])]
        table.append([f"{name}, {where}, {n:,}", *numbers, f"**{ours['divergence']:.4f}**"])
        bands.append((ours["covered"], ours["covered area"]))
        if where == "United States":
            lines.append(("… error of the log density next to the coast", ours["coast"], "", (0, COAST)))
            coast.append([name, *(f"{one[1]:.2f}" for one in (plain, cut, reflected)), f"**{ours['coast']:.2f}**"])
    covered = 100 * np.mean([mass for mass, _ in bands])
    lines.append(("95 % bands cover, mean over the mass and all settings", covered, "%", (85, 98)))
    area = 100 * np.mean([area for _, area in bands])
    lines.append(("… mean over the area", area, "%", (0, np.inf)))
    lines.append(("map of 100,000 rows, degree 12, smoothing chosen", seconds(), "s", (0, 10)))
    text = (
        f"95 % bands covered {covered:.0f} % of the mass and {area:.0f} % of the area, on average over these settings "
        f"({100 * min(mass for mass, _ in bands):.0f} to {100 * max(mass for mass, _ in bands):.0f} % of the mass, "
        f"{100 * min(area for _, area in bands):.0f} to {100 * max(area for _, area in bands):.0f} % of the area)."
    )
    _write("simulated", "\n\n".join([_table(table), _table(coast), text]))
    return lines


def hazard_rows():
    """The same for public points; nothing where their files are not at hand."""
    if not hazards.at_hand():
        return []
    lines = []
    table = [["places, whole Earth", "rows", "copies", "papers state", "`DensityMap`", "`AdaptiveKernel`", "chosen"]]
    for name, n, copies, scores, chosen in on_the_earth():
        lines.append((f"{name}, whole Earth: mean negative log density", chosen, "nats", (-10, HAZARDS[name])))
        numbers = [f"{scores[kind]:.2f}" for kind in ("series", "kernels")]
        table.append([name, f"{n:,}", f"{100 * copies:.1f} %", f"{STATED[name]:.2f}", *numbers, f"**{chosen:.2f}**"])
    second = [["places inside a border", "rows", "border ignored", "`DensityMap`", "`AdaptiveKernel`", "chosen"]]
    for name, words, n, scores, chosen, ignored in inside_borders():
        lines.append((f"{name}, {words}: mean negative log density", chosen, "nats", (-10, ignored)))
        numbers = [f"{scores[kind]:.2f}" for kind in ("series", "kernels")]
        second.append([f"{name}, {words}", f"{n:,}", f"{ignored:.2f}", *numbers, f"**{chosen:.2f}**"])
    _write("hazards", _table(table) + "\n\n" + _table(second))
    return lines


def _table(rows):
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "| " + " | ".join(["---"] * len(rows[0])) + " |", *body])


def _write(name, text):
    """Put tables between their marks on the page."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- end of {name} -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}")
