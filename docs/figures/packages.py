"""Draw docs/figures/packages.png from the recorded run of `make peers`: errors next to a border, by package."""

import json
from importlib.resources import files
from pathlib import Path

import matplotlib.pyplot as plt

SETTINGS = {  # a part of the recorded name of a job: what the figure says
    "κ = 6, hemisphere with the centre on its border, n = 1,000": "hemisphere,\nn = 1,000",
    "κ = 6, hemisphere with the centre on its border, n = 10,000": "hemisphere,\nn = 10,000",
    "κ = 6, cap with the centre 11° outside, n = 3,000": "centre outside a cap,\nn = 3,000",
    "κ = 60 round 80° W, 31° N, United States, n = 3,000": "United States,\nn = 3,000",
}
METHODS = {  # the beginning of the recorded call: name, and how its points look; hollow ones show what they hide
    "`ScoreMatching": ("tmsm, ScoreMatching", {"marker": "o", "ms": 7, "color": "#0072B2"}),
    "`TruncatedMLE": ("tmsm, TruncatedMLE", {"marker": "D", "ms": 12, "mfc": "none", "mec": "#009E73", "mew": 1.6}),
    "`stats.vonmises_fisher": ("SciPy and PyRecEst (one estimate)", {"marker": "X", "ms": 8, "color": "#D55E00"}),
    "`FrechetMean": ("geomstats (mean only)", {"marker": "s", "ms": 13, "mfc": "none", "mec": "#666666", "mew": 1.6}),
}


def main():
    results = json.loads(files("tmsm_experiments.peers").joinpath("results.json").read_text(encoding="utf-8"))
    jobs = {job["title"]: job["methods"] for job in results["jobs"] if job["group"].startswith("Cluster cut")}
    figure, panels = plt.subplots(1, 2, figsize=(10.0, 4.2), sharey=True, layout="constrained")
    for axes, quantity, label in zip(
        panels, ("centre", "size"), ("error of the centre, degrees", "error of κ, per cent of its value"), strict=True
    ):
        for height, title in enumerate(SETTINGS):
            for method in jobs[title]:
                start = next((start for start in METHODS if method["call"].startswith(start)), None)
                if start and quantity in method["errors"]:
                    name, look = METHODS[start]
                    axes.plot(method["errors"][quantity]["rms"], height, ls="", label=name, **look)
        axes.set(xscale="log", xlabel=label)
        axes.grid(axis="x", which="both", color="#E8E8E8", lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(SETTINGS)), SETTINGS.values(), fontsize=9)
    panels[0].set_ylim(len(SETTINGS) - 0.5, -0.5)
    for axes, ticks in zip(panels, ((0.5, 1, 2, 5, 10, 20), (1, 2, 5, 10, 20, 50, 100)), strict=True):
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    handles = dict(zip(*panels[0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
