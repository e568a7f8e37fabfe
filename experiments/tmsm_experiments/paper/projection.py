"""The figure that explains the projected distance: drop a coordinate, measure in the plane that is left."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tmsm
from tmsm_experiments.cells import Store, run_cells
from tmsm_experiments.paper import drawing
from tmsm_experiments.paper.settings import HEMISPHERE, TRUE_MEAN, VMF_UNKNOWN

ROWS = 500
SIZE = 1000
BATCH = 32
ARROWS = 14
DROPPED = (0, 2)
_NAMES = ("x₁", "x₂", "x₃")


def sample(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the paper's von Mises–Fisher density, and which of them were seen."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 4]))
    X = VMF_UNKNOWN.family.sample(ROWS, random_state=rng, **VMF_UNKNOWN.truth)
    return X, HEMISPHERE.contains(X)


@dataclass(frozen=True)
class Cell:
    """Some trials with every coordinate dropped in turn."""

    first: int
    last: int
    seed: int

    @property
    def name(self) -> str:
        return f"projection/seed{self.seed}-trials{self.first}-{self.last}"

    def compute(self) -> list[dict[str, str]]:
        rows = []
        for trial in range(self.first, self.last):
            X = VMF_UNKNOWN.sample(SIZE, self.seed, trial)
            for axis, name in enumerate(_NAMES):
                weight = tmsm.Projected(axis)
                fit = tmsm.ScoreMatching(VMF_UNKNOWN.model, HEMISPHERE, weight, standard_errors=False).fit(X)
                degrees = np.degrees(np.arccos(min(float(fit.params_.mean_direction @ TRUE_MEAN), 1.0)))
                rows.append({"dropped": name, "degrees": repr(float(degrees))})
        return rows


def compare(store: Store, trials: int, jobs: int, seed: int) -> list[dict[str, object]]:
    """What the choice of the dropped coordinate costs: mean error of the direction for each."""
    cells = [Cell(first, min(first + BATCH, trials), seed) for first in range(0, trials, BATCH)]
    found = run_cells(cells, store, jobs, "Projection")
    rows = []
    for name in _NAMES:
        errors = [float(row["degrees"]) for cell in cells for row in found[cell.name] if row["dropped"] == name]
        rows.append(
            {
                "dropped": name,
                "n": SIZE,
                "trials": trials,
                "degrees_off": float(np.mean(errors)),
                "error_of_mean": float(np.std(errors, ddof=1) / np.sqrt(trials)),
            }
        )
    return rows


def draw(seed: int, folder: Path) -> None:
    """A panel for each dropped coordinate."""
    X, seen = sample(seed)
    with drawing.Drawing(folder, "projection", 7.4, 4.1, 1, len(DROPPED)) as picture:
        for ax, dropped in zip(picture.axes[0], DROPPED, strict=True):
            _draw_plane(ax, X, seen, dropped)
        picture.legend(columns=4)


def _draw_plane(ax, X: np.ndarray, seen: np.ndarray, dropped: int) -> None:
    kept = [k for k in range(3) if k != dropped]
    turn = np.linspace(0.0, 2.0 * np.pi, 361)
    ax.plot(np.cos(turn), np.sin(turn), color=drawing.GREY, lw=0.7)
    ax.scatter(*X[~seen][:, kept].T, label="not observed", **{**drawing.UNSEEN, "color": "black", "s": 8})
    ax.scatter(*X[seen][:, kept].T, label="observed", **{**drawing.SEEN, "s": 8})
    border = np.column_stack([np.zeros_like(turn), np.cos(turn), np.sin(turn)])[:, kept]
    ax.plot(*border.T, color=drawing.VERMILION, lw=2.0, label="border, projected")
    # The distance in the plane and its gradient lead back to the nearest point of the border.
    d, _ = HEMISPHERE.border_distance(X[seen], metric="projected", axis=dropped)
    some = np.argsort(d)[np.linspace(0, len(d) - 1, ARROWS).astype(int)]
    chosen, d = X[seen][some], d[some]
    flat = chosen[:, kept]
    ends = flat / np.linalg.norm(flat, axis=1, keepdims=True) if dropped == 0 else flat * [0.0, 1.0]
    assert np.allclose(np.linalg.norm(ends - flat, axis=1), d, atol=1e-9)
    for k, (start, end) in enumerate(zip(flat, ends, strict=True)):
        label = "projected distance" if k == 0 else None
        ax.plot(*np.column_stack([start, end]), color=drawing.BLUE, lw=1.3, label=label, zorder=4)
    ax.set(
        xlabel=_NAMES[kept[0]],
        ylabel=_NAMES[kept[1]],
        title=f"{_NAMES[dropped]} set to zero",
        aspect="equal",
        xlim=(-1.08, 1.08),
        ylim=(-1.08, 1.08),
        xticks=(-1, 0, 1),
        yticks=(-1, 0, 1),
    )
