"""The paper's benchmark figure, and that of its appendix: error against the number of rows."""

from pathlib import Path

import numpy as np

from tmsm_experiments.paper import drawing
from tmsm_experiments.paper.accuracy import Accuracy
from tmsm_experiments.paper.methods import GEODESIC, OURS, PAPER, PROJECTED, TRUNCSM, TRUNCSM_OVAL

NEAR_THE_BOUND = (GEODESIC, PROJECTED, TRUNCSM, *OURS)


def draw(results: list[Accuracy], folder: Path) -> None:
    """Directions in one figure with a column for each experiment, κ in another."""
    for name, quantity, label in (
        ("accuracy", "direction", "mean error of the direction (rad)"),
        ("accuracy_concentration", "concentration", "mean error of the concentration"),
    ):
        chosen = [result for result in results if result.quantity == quantity]
        width = 3.3 * len(chosen) + (0.3 if len(chosen) > 1 else 1.6)
        with drawing.Drawing(folder, name, width, 6.4, 2, len(chosen), sharex=True, sharey="row") as picture:
            for (above, below), result in zip(picture.axes.T, chosen, strict=True):
                _draw_errors(above, result)
                _draw_against_bound(below, result)
            picture.axes[0, 0].set_ylabel(label)
            picture.axes[1, 0].set_ylabel("the same over the Cramér–Rao bound")
            picture.legend(columns=4 if len(chosen) > 1 else 2)


def _draw_errors(ax, result: Accuracy) -> None:
    """The paper's methods: mean and standard deviation over the trials."""
    sizes = np.array(result.sizes)
    ax.plot(sizes, result.bound / np.sqrt(sizes), color=drawing.GREY, lw=4, alpha=0.5, label="Cramér–Rao bound")
    for k, method in enumerate(name for name in (*PAPER, TRUNCSM_OVAL) if name in result.errors):
        mean, spread = result.mean(method), result.spread(method)
        # On a logarithmic axis a bar as long downwards as upwards would leave the picture.
        bars = [np.minimum(spread, mean * 2.0 / 3.0), spread]
        _draw_bars(ax, sizes * 1.03 ** (k - 1.5), mean, bars, method)
    ax.set(xscale="log", yscale="log", title=result.experiment.title)
    _finish(ax, sizes)


def _draw_against_bound(ax, result: Accuracy) -> None:
    """Every accurate method: mean error over the bound, with its Monte Carlo error."""
    sizes = np.array(result.sizes)
    unit = result.bound / np.sqrt(sizes)
    ax.axhline(1.0, color=drawing.GREY, lw=4, alpha=0.5)
    for k, method in enumerate(NEAR_THE_BOUND):
        ratio, error = result.mean(method) / unit, result.mean_error(method) / unit
        _draw_bars(ax, sizes * 1.02 ** (k - 2.5), ratio, error, method)
    ax.set(xscale="log", xlabel="observed rows n", ylim=(0.9, 1.5))
    _finish(ax, sizes)


def _draw_bars(ax, x, y, bars, method: str) -> None:
    style = {**drawing.METHOD_STYLES[method], "ms": 4.5, "lw": 1.2}
    ax.errorbar(x, y, yerr=bars, elinewidth=0.8, capsize=0, label=method, **style)


def _finish(ax, sizes) -> None:
    ax.set_xticks(sizes[::2], [f"{n:,}" for n in sizes[::2]])
    ax.minorticks_off()
    ax.grid(axis="y", color="0.9", lw=0.6)
