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
    """Lines of a table: name, value, target, and whether it is met."""
    rows = []
    for setting, (mean, error, covered) in with_outliers().items():
        name = "ordinary" if setting is None else f"robust={setting!r}"
        target = "biased" if setting is None else "within 3 % of 20"
        met = (
            abs(mean - outliers.KAPPA) > 0.2 * outliers.KAPPA
            if setting is None
            else abs(mean / outliers.KAPPA - 1) < 0.03
        )
        rows.append(
            (
                f"950 rows, κ = 20, 50 outliers, {name}",
                f"{mean:.2f} ± {error:.2f}, {covered:.0f} % covered",
                target,
                met,
            )
        )
    for n in (100, 1000, 10_000):
        for setting, (share, covered) in without_outliers(n, 300 if n < 10_000 else 100).items():
            if setting is None:
                continue
            target = "≥ 90 % efficient" if setting == "auto" else "92–98 % covered"
            met = share >= 0.9 if setting == "auto" else 92.0 <= covered <= 98.0
            rows.append(
                (
                    f"{n:,} rows, no outliers, robust={setting!r}",
                    f"{100 * share:.0f} % efficient, {covered:.0f} % covered",
                    target,
                    met,
                )
            )
    for n in (300, 1000, 10_000):
        share = in_the_united_states(n, 100 if n < 10_000 else 40)
        rows.append(
            (
                f"{n:,} rows in the United States, robust='auto'",
                f"{100 * share:.0f} % efficient",
                "≥ 90 % efficient",
                share >= 0.9,
            )
        )
    return rows
