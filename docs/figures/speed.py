"""Draw docs/figures/speed.png from the last recorded run of `make bench`: rows a second, and distances to borders."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

BLUE, ORANGE = "#0072B2", "#D55E00"
HISTORY = Path(__file__).parents[2] / "benchmarks" / "history.jsonl"
TASKS = {  # what the figure says: the recorded figure
    "array in memory,\ncap": "cap, 10,000,000 rows, one thread, over X.T @ X … rows a second, with errors",
    "Parquet file, cap\n(2 threads)": (
        "Parquet, 40,000,000 rows, with errors, over the cached read of its columns … rows a second"
    ),
    "CSV file, cap\n(2 threads)": "CSV, 2,000,000 rows, with errors, over pyarrow's read … rows a second",
    "border of the United States,\none weight": "US border, a single weight, rows a second and core",
    "border of the United States,\ndefault weight": "US border, default weight, rows a second and core",
}
VERTICES = (200, 2000, 20_000)


def main():
    figures = json.loads(HISTORY.read_text(encoding="utf-8").splitlines()[-1])["figures"]
    figure, (speeds, distances) = plt.subplots(1, 2, figsize=(10.0, 3.9), width_ratios=(1.3, 1.0), layout="constrained")

    rates = [figures[name] for name in TASKS.values()]
    bars = speeds.barh(range(len(TASKS)), rates, height=0.6, color=BLUE)
    speeds.bar_label(bars, [f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}" for rate in rates], padding=4, fontsize=9)
    speeds.set(xscale="log", xlim=(0.5, 400.0), xlabel="million rows a second, with standard errors")
    speeds.set_xticks([1, 10, 100], ["1", "10", "100"])
    speeds.set_yticks(range(len(TASKS)), TASKS, fontsize=9)
    speeds.invert_yaxis()
    speeds.set_title("A fit of von Mises–Fisher", fontsize=10)

    ours = [figures[f"distance to {n:,} vertices, a row"] / 1000.0 for n in VERTICES]
    ratios = [figures[f"distance to {n:,} vertices, a row … time of spherely over it"] for n in VERTICES]
    theirs = [time * ratio for time, ratio in zip(ours, ratios, strict=True)]
    for times, colour, marker, name in ((theirs, ORANGE, "X", "spherely"), (ours, BLUE, "o", "tmsm")):
        distances.plot(VERTICES, times, marker=marker, color=colour, ms=6)
        distances.annotate(
            name, (VERTICES[1], times[1]), xytext=(0, 9), textcoords="offset points", color=colour, ha="center"
        )
    distances.set(xscale="log", yscale="log", xlabel="vertices of the border", ylabel="microseconds for one point")
    distances.set(ylim=(0.05, 100.0))
    distances.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    distances.set_xticks(VERTICES, [f"{n:,}" for n in VERTICES])
    distances.minorticks_off()
    distances.set_title("Signed distance to the border of a polygon", fontsize=10)
    for axes in (speeds, distances):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
