"""One setting, many seeds: how often the intervals and regions hold the truth, and the tests reject it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import tmsm
from tmsm_experiments.cells import Rows
from tmsm_experiments.coverage.settings import BOUNDS, GROUP_SIZES, GROUPS, Setting, make_region

LEVEL = 0.95


@dataclass(frozen=True)
class CoverageCell:
    """All seeds of a setting."""

    setting: Setting

    @property
    def name(self) -> str:
        return f"{self.setting.name}, {self.setting.seeds} seeds"

    def compute(self) -> Rows:
        return [simulate(self.setting)]


def simulate(setting: Setting) -> dict[str, str]:
    """One row of the table."""
    region = make_region(setting.region)
    found: list[dict[str, Any]] = []
    failed = 0
    for seed in range(setting.seeds):
        rng = np.random.default_rng([seed, setting.n])
        X, options, inside = make_rows(setting, region, rng)
        estimator = setting.estimator(inside)
        try:
            fit = estimator.fit(X, **options)
            found.append(judge(fit, setting.truth))
        except tmsm.errors.EstimationError:
            failed += 1
    row = {
        "model": setting.model, "region": setting.region, "centre": setting.centre, "n": str(setting.n),
        "method": setting.method, "kind": setting.kind, "seeds": str(setting.seeds), "failed": str(failed),
    }  # fmt: skip
    row["undetermined"] = _share(found, "undetermined")
    for name in ("region covers", "ellipse covers"):
        row[name] = _share(found, name)
    # Where most samples have too few rows for the test, the others say little of its size.
    row["test rejects"] = _share(found, "test rejects", least=0.5)
    for method in ("interval", "wald"):
        entries = np.array([one[method] for one in found], dtype=float)
        shares = entries.mean(axis=0) if entries.size else np.zeros(0)
        row[f"{method} lowest"] = f"{shares.min():.4f}" if shares.size else ""
        row[f"{method} highest"] = f"{shares.max():.4f}" if shares.size else ""
        row[f"{method} of"] = found[0]["names"][int(np.argmin(shares))] if shares.size else ""
    return row


def make_rows(setting: Setting, region: Any, rng: np.random.Generator) -> tuple[np.ndarray, dict[str, Any], Any]:
    """Rows, options of `fit`, and the region to fit them in."""
    model, truth, n = setting.estimator(region).model, setting.truth, setting.n

    def draw(count: int) -> np.ndarray:
        if setting.model == "vMF" and setting.region in BOUNDS:
            return _draw_inside(count, region, BOUNDS[setting.region], truth, rng)
        return model.sample(count, region, random_state=rng, **truth)

    if setting.kind == "weights that depend on x":
        # A row is kept with a probability that falls to a tenth across the region, and weighs its inverse.
        X = draw(4 * n)
        lon = tmsm.xyz_to_lonlat(X)[0]
        chance = np.clip(1.0 - 0.9 * (lon - lon.min()) / np.ptp(lon), 0.1, 1.0)
        kept = np.flatnonzero(rng.random(len(X)) < chance)[:n]
        return X[kept], {"sample_weight": 1.0 / chance[kept]}, region
    if setting.kind == GROUPS:
        # The rows of a group are copies of one point.
        points = draw(GROUP_SIZES.size)
        near = np.repeat(points, GROUP_SIZES, axis=0)
        return near, {"groups": np.repeat(np.arange(GROUP_SIZES.size), GROUP_SIZES)}, region
    if setting.kind == "every row ten times":
        points = draw(n // 10)
        return np.repeat(points, 10, axis=0), {"groups": np.repeat(np.arange(n // 10), 10)}, region
    if setting.kind == "rounded to 0.5°":
        lon, lat = (np.round(2.0 * angle) / 2.0 for angle in tmsm.xyz_to_lonlat(draw(n)))
        shrunk = tmsm.LonLatBox(-30.0, 0.0, 30.0, 45.0, rounded=0.5)
        X = tmsm.lonlat_to_xyz(lon, lat)
        return X[shrunk.contains(X)], {}, shrunk
    return draw(n), {}, region


def _draw_inside(
    n: int, region: Any, bounds: tuple[float, float, float, float], truth: dict[str, Any], rng: np.random.Generator
) -> np.ndarray:
    """Draws of von Mises–Fisher by rejection from uniform ones in a box: fast however far the centre is."""
    west, south, east, north = bounds
    low, high = np.sin(np.radians([south, north]))
    theta = truth["concentration"] * np.asarray(truth["mean_direction"])
    grid = np.meshgrid(np.linspace(west, east, 200), np.degrees(np.arcsin(np.linspace(low, high, 200))))
    corners = tmsm.lonlat_to_xyz(grid[0].ravel(), grid[1].ravel())
    # Between the points of the grid the exponent rises by at most its slope times half a cell's diagonal.
    top = float((corners @ theta).max()) + truth["concentration"] * np.radians(max(east - west, north - south)) / 200.0
    kept = [np.empty((0, 3))]
    while sum(map(len, kept)) < n:
        lon, z = rng.uniform(west, east, 4 * n), rng.uniform(low, high, 4 * n)
        X = tmsm.lonlat_to_xyz(lon, np.degrees(np.arcsin(z)))
        X = X[rng.random(len(X)) < np.exp(X @ theta - top)]
        kept.append(X[region.contains(X)])
    return np.concatenate(kept)[:n]


def judge(fit: Any, truth: dict[str, Any]) -> dict[str, Any]:
    """Whether a fit's regions and intervals hold the truth, and its test rejects it."""
    centre = next((name for name in ("mean_direction", "mean") if name in truth), None)
    goodness = fit.goodness_of_fit_
    found: dict[str, Any] = {
        "undetermined": not fit.determined_,
        "test rejects": np.nan if goodness is None else goodness.p_value < 1.0 - LEVEL,
        "region covers": np.nan if centre is None else fit.covers(truth[centre], LEVEL),
        "ellipse covers": np.nan if centre is None else _in_ellipse(fit, centre, np.asarray(truth[centre])),
        "names": [],
        "interval": [],
        "wald": [],
    }
    for method in ("interval", "wald"):
        intervals = fit.confidence_interval(LEVEL, method="wald" if method == "wald" else None)
        for name, ends in intervals.items():
            if not isinstance(ends, tuple):
                continue  # a direction
            value = np.asarray(truth[name], dtype=float)
            if name == "quadratic":
                value = value - np.trace(value) / len(value) * np.eye(len(value))
            low, high = (np.asarray(end) for end in ends)
            known = np.asarray(fit.std_errors_[name]) == 0.0
            for index in np.ndindex(value.shape):
                if (len(index) == 2 and index[0] > index[1]) or known[index]:
                    continue
                # What is as good as zero may be covered by an interval that begins there.
                held = (
                    low[index] <= max(value[index], 1e-6 if value[index] > 0.0 else value[index])
                    and value[index] <= high[index]
                )
                found[method].append(bool(held))
                if method == "interval":
                    found["names"].append(name + (str(list(index)) if index else ""))
    return found


def _in_ellipse(fit: Any, name: str, truth: np.ndarray) -> bool:
    """Whether the delta method's ellipse of a centre holds the truth."""
    from scipy.stats import chi2

    estimate = np.asarray(fit.params_[name])
    jacobian = fit.model.on(fit.result_.region.manifold).parameter_jacobian(fit.natural_params_)[name]
    covariance = jacobian @ fit.covariance_ @ jacobian.T
    if name == "mean":
        away, k = truth - estimate, estimate.size
    else:
        angle = 2.0 * np.arctan2(np.linalg.norm(truth - estimate), np.linalg.norm(truth + estimate))
        across = truth - (truth @ estimate) * estimate
        away, k = angle * across / max(float(np.linalg.norm(across)), 1e-300), estimate.size - 1
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[-k:], vectors[:, -k:]
    return bool((((vectors.T @ away) ** 2) / values).sum() <= chi2(k).ppf(LEVEL))


def _share(found: list[dict[str, Any]], name: str, least: float = 0.0) -> str:
    """The share of those that have an answer; empty where none has one, or less than a share of them."""
    values = np.array([one[name] for one in found], dtype=float)
    answered = values[~np.isnan(values)]
    return f"{answered.mean():.4f}" if answered.size > least * values.size else ""
