"""How an estimate was found and what to be wary of, in sentences; and the facts of a summary."""

from __future__ import annotations

from tmsm.foundation.text import readable, readable_p, readable_share
from tmsm.inference.border_check import misplaced_border
from tmsm.inference.centres import centres_of
from tmsm.inference.delta import cautions
from tmsm.inference.diagnostics import (
    extrapolation,
    few_carriers,
    mass_outside,
    thin_region,
    unequal_columns,
    weight_shares,
)
from tmsm.inference.exposure_error import exposure_cautions
from tmsm.inference.fit import Fit
from tmsm.inference.goodness import REJECTED
from tmsm.inference.influence import are_unequal
from tmsm.weights import Constant

__all__ = ["diagnostics_of", "status_of"]

# Below it the rows could hardly come from the model, and the status says so.
_SUSPICIOUS = 1e-6
# Below it a test is likely to be taken at its word.
_DOUBTFUL = 0.05
# Cluster-robust errors want so many groups.
_FEW_GROUPS = 40
# Rows for each parameter below which the status says that they are few.
_FEW_ROWS = 20


def status_of(fit: Fit) -> str:
    """All sentences on a fit."""
    sentences = [fit.status]
    if fit.undetermined is not None:
        sentences.insert(0, fit.undetermined)
    elif fit.covariance is not None:
        sentences += fit.model.cautions(fit.theta, fit.covariance)
        sentences += cautions(fit.model, fit.params, fit.intervals(0.95, None))
        skewed = fit.skewed()
        if skewed is not None and not any("hardly determine the" in sentence for sentence in sentences):
            sentences.append(skewed)
    if fit.n_groups is not None and fit.error_df is not None:
        sentences += _few_groups(fit.n_groups, fit.error_df + 1.0, fit.n_free)
    sentences += _few_rows(fit)
    if fit.undetermined is None:
        sentences += _lost_components(fit)
        sentences += extrapolation(centres_of(fit), fit.region, fit.frame)
    sentences += unequal_columns(fit.kept)
    sentences += few_carriers(fit.influence, fit.kept)
    sentences += misplaced_border(fit.influence, fit.whole_covariance, fit.kept, fit.n_samples)
    sentences += exposure_cautions(fit.influence, fit.whole_covariance, fit.kept)
    goodness = fit.goodness_of_fit
    if goodness is not None and goodness.p_value < _DOUBTFUL:
        sentences += thin_region(fit.kept)
    if goodness is not None and goodness.p_value < REJECTED:
        sentences.append(_rejection(fit, goodness.p_value))
    return " ".join(sentences)


def diagnostics_of(fit: Fit) -> list[tuple[str, str]]:
    """What to judge a fit by: pairs of a name and words."""
    found = []
    single = None if fit.choice is None else fit.choice.single
    if single is not None and not isinstance(single, Constant):
        share, effective = weight_shares(single, fit.kept)
        effective /= fit.kept_share
        found += [
            ("nearest tenth", f"{readable(100.0 * share)} % of the weight on the 10 % of rows nearest to the border"),
            ("effective rows", f"{effective:,.0f} by that weight"),
        ]
    outside = mass_outside(fit.model, fit.params, fit.region)
    if outside is not None and fit.undetermined is None:
        where = "" if fit.regression is None else " at the mean of the covariates"
        found.append(("mass outside", f"{readable_share(outside)} of the fitted distribution{where}"))
    goodness = fit.goodness_of_fit
    if goodness is not None:
        words = f"χ² = {goodness.statistic:.3g} on {goodness.df} df, {readable_p(goodness.p_value)}"
        found.append(("goodness of fit", words))
    return found


def _rejection(fit: Fit, p_value: float) -> str:
    """What the test of the model says where it rejects it."""
    name, seen = type(fit.configuration["model"]).__name__, fit.region.has_border
    advice = "Compare with a wider family, and look at a map."
    if p_value >= _SUSPICIOUS:
        beyond = " Do not trust what it says about places outside the region." if seen else ""
        return f"The goodness of fit rejects {name} ({readable_p(p_value)}).{beyond} {advice}"
    shape = "bimodal, axial or of another shape" + (", or the border may be wrong" if seen else "")
    where = " inside this region" if seen else ""
    return f"The rows do not look like {name}{where} ({readable_p(p_value)}): they may be {shape}. {advice}"


def _lost_components(fit: Fit) -> list[str]:
    """A sentence for each component of a mixture that has no centre in reach."""
    return [
        f"The data do not determine the centre of component {one.component}: its density is lowest among the rows and "
        "rises away from them."
        for one in fit.component_centres
        if fit.is_lowest(one)
    ]


def _few_rows(fit: Fit) -> list[str]:
    """A sentence if there are few rows, or few that count."""
    k, n = fit.n_free, fit.n_samples
    if n < _FEW_ROWS * k:
        rows = "1 row is" if n == 1 else f"{n:,} rows are"
        return [f"{rows} few for {k} parameters: use the errors as a rough guide only."]
    counted = n if fit.n_groups is not None else fit.kept.effective_number / fit.kept_share
    if counted < _FEW_ROWS * k:
        return [
            f"By their weights {n:,} rows count like {counted:,.0f}, which is few for {k} parameters: use the errors "
            "as a rough guide only."
        ]
    return []


def _few_groups(count: int, effective: float, n_free: int) -> list[str]:
    """A sentence if there are few groups, or few that matter."""
    if count <= n_free:
        return [
            f"{count} groups are too few to estimate the errors of {n_free} parameters: some are set to zero. Do not "
            "use these errors."
        ]
    if effective >= _FEW_GROUPS - 1e-6:  # as many, but for rounding
        return []
    if not are_unequal(count, effective):
        return [f"{count} groups are few: the errors may be too small."]
    return [
        f"{count:,} groups are so unequal that they count like {effective:.0f}: use the errors as a rough guide only."
    ]
