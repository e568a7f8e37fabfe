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
    """Lines of the report: name, value, unit, and the limits that it must keep."""
    within = (0.97 * outliers.KAPPA, 1.03 * outliers.KAPPA)
    for setting, (mean, _, covered) in with_outliers().items():
        name = "ordinary fit" if setting is None else f"robust={setting!r}"
        # The ordinary fit is the control: it must fail.
        yield (
            f"950 rows with κ = 20 and 50 outliers, {name}: mean κ",
            mean,
            "",
            (12, 13.5) if setting is None else within,
        )
        yield "… 95 % intervals that cover", covered, "%", (0, 5) if setting is None else (88, 100)
    for n, n_seeds in ((100, 300), (1000, 300), (10_000, 100)):
        for setting, (share, covered) in without_outliers(n, n_seeds).items():
            if setting is not None:
                name = f"{n:,} rows without outliers, robust={setting!r}: efficiency"
                yield name, 100 * share, "%", (90 if setting == "auto" else 60, np.inf)
                yield "… 95 % intervals that cover", covered, "%", (92, 98)
    for n, n_seeds in ((300, 100), (1000, 100), (10_000, 40)):
        share = in_the_united_states(n, n_seeds)
        yield f"{n:,} rows in the United States, robust='auto': efficiency", 100 * share, "%", (90, np.inf)
