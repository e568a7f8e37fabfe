"""The paper's first figure of results: most of the data unseen, and where each method puts the centre."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tmsm
from tmsm_experiments.paper import drawing
from tmsm_experiments.paper.methods import DROPPED_AXIS, GEODESIC, NAIVE, PROJECTED
from tmsm_experiments.paper.settings import CUT, CUT_CAP, KENT_KNOWN, TRUE_ANGLES, TRUE_MEAN, VMF_UNKNOWN, Experiment

ROWS = 2000


@dataclass(frozen=True)
class Illustration:
    """All rows, which of them were seen, and the fits to those."""

    experiment: Experiment
    X: np.ndarray
    seen: np.ndarray
    fits: dict[str, Any]

    def degrees_off(self, method: str) -> float:
        """The angle between the estimated and the true mean."""
        cosine = float(self.fits[method].params_.mean_direction @ TRUE_MEAN)
        return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))

    def rows(self) -> list[dict[str, object]]:
        rows = []
        for method, fit in self.fits.items():
            colat, lon = tmsm.xyz_to_colatlon(fit.params_.mean_direction)
            rows.append(
                {
                    "experiment": self.experiment.name,
                    "method": method,
                    "colatitude": float(colat),
                    "longitude": float(lon),
                    "degrees_off": self.degrees_off(method),
                    "standard_error_degrees": float(np.degrees(fit.std_errors_.mean_direction)),
                    "concentration": fit.params_.concentration,
                    "rows": self.X.shape[0],
                    "seen": int(self.seen.sum()),
                }
            )
        return rows


def illustrate(experiment: Experiment, seed: int) -> Illustration:
    """Draw everything, keep what lies beyond the cut, and fit that."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, experiment.number]))
    X = experiment.family.sample(ROWS, random_state=rng, **experiment.truth)
    seen = CUT_CAP.contains(X)
    model = experiment.model
    fits = {
        GEODESIC: tmsm.ScoreMatching(model, CUT_CAP, "geodesic"),
        PROJECTED: tmsm.ScoreMatching(model, CUT_CAP, tmsm.Projected(DROPPED_AXIS)),
        NAIVE: tmsm.NaiveMLE(model),
    }
    return Illustration(experiment, X, seen, {name: fit.fit(X[seen]) for name, fit in fits.items()})


def run(seed: int) -> list[Illustration]:
    return [illustrate(experiment, seed) for experiment in (VMF_UNKNOWN, KENT_KNOWN)]


def _plane(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    colat, lon = tmsm.xyz_to_colatlon(np.atleast_2d(X))
    return lon, colat


def draw(results: list[Illustration], folder: Path) -> None:
    """The angle plane above, the globe below; a column for each model."""
    with drawing.Drawing(folder, "illustration", 7.4, 7.4, 2, len(results), height_ratios=[1.0, 1.15]) as picture:
        for (plane, globe), result in zip(picture.axes.T, results, strict=True):
            _draw_plane(plane, result)
            _draw_globe(globe, result)
        picture.legend(columns=4)


def _draw_plane(ax, result: Illustration) -> None:
    ax.scatter(*_plane(result.X[~result.seen]), label="not observed", **drawing.UNSEEN)
    ax.scatter(*_plane(result.X[result.seen]), label="observed", **drawing.SEEN)
    ax.axhline(np.pi / 2 + CUT, label="border", **drawing.BORDER)
    for ring in result.fits[GEODESIC].confidence_region().rings:
        ax.fill(*_plane(ring), fc=drawing.BLUE, ec=drawing.BLUE, alpha=0.25, zorder=3, label="95 % region (geodesic)")
    for method, fit in result.fits.items():
        ax.plot(*_plane(fit.params_.mean_direction), label=method, zorder=5, **drawing.marker_style(method))
    ax.plot(TRUE_ANGLES[1], TRUE_ANGLES[0], label="true centre", **drawing.TRUTH)
    quarters = np.pi * np.array([0.5, 0.75, 1.0, 1.25, 1.5])
    ax.set(
        title=result.experiment.title,
        xlabel="longitude θ (rad)",
        ylabel="colatitude φ (rad)",
        xlim=(np.pi / 2, 1.5 * np.pi),
        ylim=(np.pi, 0.25 * np.pi),
        xticks=quarters,
        xticklabels=["π/2", "3π/4", "π", "5π/4", "3π/2"],
        yticks=quarters[:3],
        yticklabels=["π/2", "3π/4", "π"],
    )


def _draw_globe(ax, result: Illustration) -> None:
    globe = drawing.Globe(ax, tmsm.colatlon_to_xyz(np.pi / 2 + 0.25, np.pi - 0.35), up=[1.0, 0.0, 0.0])
    globe.graticule()
    globe.scatter(result.X[~result.seen], **drawing.UNSEEN)
    globe.scatter(result.X[result.seen], **drawing.SEEN)
    lon = np.linspace(0.0, 2.0 * np.pi, 361)
    globe.plot(tmsm.colatlon_to_xyz(np.full_like(lon, np.pi / 2 + CUT), lon), **drawing.BORDER)
    for ring in result.fits[GEODESIC].confidence_region().rings:
        globe.plot(np.vstack([ring, ring[:1]]), color=drawing.BLUE, lw=1.2, zorder=4)
    for method, fit in result.fits.items():
        globe.plot(fit.params_.mean_direction, zorder=5, **drawing.marker_style(method))
    globe.plot(TRUE_MEAN, **drawing.TRUTH)
