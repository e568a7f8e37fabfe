"""Robust fits: what outliers do to them, and what they cost where there are none."""

import numpy as np

import tmsm
from scenarios import outliers

SETTINGS = (None, 0.3, "auto")


def _efficiency(found, truth):
    """Mean squared error of the ordinary estimates over that of each kind of robust ones."""
    errors = {setting: float(np.mean((kappas - truth) ** 2)) for setting, (kappas, _) in found.items()}
    return {setting: errors[None] / error for setting, error in errors.items()}


def with_outliers(n_seeds=100):
    """Mean κ̂ of 950 rows with κ = 20 and 50 far outliers, its error, and per cent of intervals that cover."""
    found = outliers.simulate(1000, 50, SETTINGS, n_seeds)
    return {
        setting: (float(kappas.mean()), float(kappas.std() / np.sqrt(n_seeds)), 100 * float(covered.mean()))
        for setting, (kappas, covered) in found.items()
    }


def without_outliers(n, n_seeds=300):
    """Efficiency against the ordinary fit, and per cent of intervals that cover."""
    found = outliers.simulate(n, 0, SETTINGS, n_seeds)
    shares = _efficiency(found, outliers.KAPPA)
    return {setting: (shares[setting], 100 * float(covered.mean())) for setting, (_, covered) in found.items()}


def in_the_united_states(n, n_seeds=100, lonlat=(-97.0, 39.0), kappa=60.0):
    """Efficiency of "auto" against the ordinary fit, which combines weights there."""
    region, model = tmsm.datasets.load_border("usa"), outliers.MODEL
    found = {setting: [] for setting in (None, "auto")}
    for seed in range(n_seeds):
        X = model.sample(n, region, random_state=seed, mean_direction=tmsm.lonlat_to_xyz(*lonlat), concentration=kappa)
        for setting, kappas in found.items():
            fit = tmsm.ScoreMatching(model, region, robust=setting, standard_errors=False).fit(X)
            kappas.append(fit.params_.concentration)
    return _efficiency({setting: (np.array(kappas), None) for setting, kappas in found.items()}, kappa)["auto"]


def robust_rows():
    """Lines of the table: name, value, unit, and the limits that it should be within."""
    rows, kappa = [], outliers.KAPPA
    for setting, (mean, error, covered) in with_outliers().items():
        name = "ordinary" if setting is None else f"robust={setting!r}"
        limits = (0, 0.8 * kappa) if setting is None else (0.97 * kappa, 1.03 * kappa)
        rows.append((f"950 rows with κ = 20 and 50 outliers, {name}: mean (± {error:.2g})", mean, "", limits))
        rows.append(("… its intervals cover", covered, "%", (0, 10) if setting is None else (90, 98)))
    for n in (100, 1000, 10_000):
        for setting, (share, covered) in without_outliers(n, 300 if n < 10_000 else 100).items():
            if setting is None:
                continue
            limits = (90, np.inf) if setting == "auto" else (70, np.inf)
            rows.append((f"{n:,} rows without outliers, robust={setting!r}: efficiency", 100 * share, "%", limits))
            rows.append(("… its intervals cover", covered, "%", (92, 98)))
    for n in (300, 1000, 10_000):
        share = in_the_united_states(n, 100 if n < 10_000 else 40)
        rows.append((f"{n:,} rows in the United States, robust='auto': efficiency", 100 * share, "%", (90, np.inf)))
    return rows
