"""Density maps against kernels at their best width, on simulated truths and on public points; the tables go to docs."""

import time
from pathlib import Path

import numpy as np

import tmsm
from scenarios import hazards, maps
from tmsm_experiments.pages import placed, table

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
# What score-based models are stated to have (De Bortoli et al. 2022, table 4), and what is asked of ours, in nats.
STATED = {"earthquakes": -0.19, "floods": 0.45, "fires": -1.33}
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


def judged(X, region, n_splits=hazards.SPLITS):
    """Means over splits: of each map, of the chosen one with and without copies of fitted rows, and their share."""
    found = [hazards.scores(X, region, seed) for seed in range(n_splits)]
    return (
        _means([one.every for one in found]),
        float(np.mean([one.every[one.chosen] for one in found])),
        float(np.mean([one.without_copies[one.chosen] for one in found])),
        float(np.mean([one.copies for one in found])),
    )


def inside_borders(n_splits=hazards.SPLITS):
    """(Name, words, rows, the border, and what kernels score that ignore it) for each hazard."""
    for name, (words, border) in hazards.borders().items():
        X = hazards.rows(name)
        X = X[border.contains(X)]
        ignored = float(np.mean([hazards.score_without_border(X, seed) for seed in range(n_splits)]))
        yield name, words, X, border, ignored


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
    lines, rows = [], [["truth and region, n", "kernel", "cut", "reflected", "`AdaptiveKernel`", "`DensityMap`"]]
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
        rows.append([f"{name}, {where}, {n:,}", *numbers, f"**{ours['divergence']:.4f}**"])
        bands.append((ours["covered"], ours["covered area"]))
        if where == "United States":
            lines.append(("… error of the log density next to the coast", ours["coast"], "", (0, COAST)))
            coast.append([name, *(f"{one[1]:.2f}" for one in (plain, cut, reflected)), f"**{ours['coast']:.2f}**"])
    covered = 100 * np.mean([mass for mass, _ in bands])
    lines.append(("95 % bands cover, mean over the mass and all settings", covered, "%", (85, 98)))
    area = 100 * np.mean([area for _, area in bands])
    lines.append(("… mean over the area", area, "%", (75, 98)))
    lines.append(("map of 100,000 rows, degree 12, smoothing chosen", seconds(), "s", (0, 10)))
    text = (
        f"95 % bands covered {covered:.0f} % of the mass and {area:.0f} % of the area, on average over these settings "
        f"({100 * min(mass for mass, _ in bands):.0f} to {100 * max(mass for mass, _ in bands):.0f} % of the mass, "
        f"{100 * min(area for _, area in bands):.0f} to {100 * max(area for _, area in bands):.0f} % of the area)."
    )
    _write("simulated", "\n\n".join([table(rows), table(coast), text]))
    return lines


def hazard_rows():
    """The same for public points; nothing where their files are not at hand."""
    if not hazards.at_hand():
        return []
    lines = []
    ours = ["`DensityMap`", "`AdaptiveKernel`", "chosen", "copies", "chosen, without copies"]
    first = [["places, whole Earth", "rows", "score-based", *ours]]
    for name in hazards.NAMES:
        X = hazards.rows(name)
        scores, chosen, without, copies = judged(X, tmsm.Everywhere(tmsm.Sphere(2)))
        lines.append((f"{name}, whole Earth: mean negative log density", chosen, "nats", (-10, HAZARDS[name])))
        first.append([name, f"{len(X):,}", f"{STATED[name]:.2f}", *_numbers(scores, chosen, without, copies)])
    second = [["places inside a border", "rows", "border ignored", *ours]]
    for name, words, X, border, ignored in inside_borders():
        scores, chosen, without, copies = judged(X, border)
        lines.append((f"{name}, {words}: mean negative log density", chosen, "nats", (-10, ignored)))
        numbers = _numbers(scores, chosen, without, copies)
        second.append([f"{name}, {words}", f"{len(X):,}", f"{ignored:.2f}", *numbers])
    _write("hazards", table(first) + "\n\n" + table(second))
    return lines


def _numbers(scores, chosen, without, copies):
    own = [f"{scores[kind]:.2f}" for kind in ("series", "kernels")]
    return [*own, f"**{chosen:.2f}**", f"{100 * copies:.1f} %", f"{without:.2f}"]


def _write(name, text):
    """Put tables between their marks on the page."""
    PAGE.write_text(placed(PAGE.read_text(), name, text))
