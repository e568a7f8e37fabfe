"""A kernel Stein test of whether the rows follow the fitted density, whatever its normalising constant.

Under the model E f = 0 for every function f = ⟨V, ψ⟩ + div V of a field V that does not cross the border.  Take all
V = g k(·, y) P e_j, g a weight, k a Gaussian kernel, e_j the axes of the embedding space, y any point (of the space of
its `functions`, where several embedding coordinates are one point of the manifold):

    f_j(x) = k u_j + g (P∇k)_j,   u = g (ψ + div P) + ∇g,   (div P)_j = Δx_j.

The statistic is n times the squared length of the mean of f in the kernel's space, a double sum of h(x, x').
Estimated parameters are accounted for: f is linear in θ, so its mean at θ̂ is, to first order, that of f + B φ_i, with
φ_i the influence of row i on θ̂ and B the mean slope of f, and the random signs of the bootstrap multiply these.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, NamedTuple

import numpy as np

from tmsm.data.groups import require_groups
from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError
from tmsm.foundation.progress import with_progress
from tmsm.foundation.validation import check_count, check_number, check_option, check_random_state
from tmsm.inference.fit import Fit, Fitted
from tmsm.inference.stein_linear import GroupsInside, InducingPoints, linear_test
from tmsm.inference.stein_rows import SteinRows, stein_rows

__all__ = ["SteinTest", "stein_test"]

# Numbers in one block of the n × n matrices; about eight such are alive at a time.
_BLOCK_NUMBERS = 2_000_000
_PAIRS = 1000
_METHODS = ["linear", "full"]


class SteinTest(NamedTuple):
    """The result of `stein_test`.

    Attributes
    ----------
    statistic
        The kernel Stein discrepancy, multiplied by the number of rows.
    p_value
        The probability of a larger statistic if the model is right.
    bandwidth
        The width of the kernel.
    """

    statistic: float
    p_value: float
    bandwidth: float


def stein_test(
    fit: Fitted,
    X: Any,
    *,
    bandwidth: float | None = None,
    n_resamples: int = 1000,
    random_state: Any = 0,
    groups: Any = None,
    method: Literal["linear", "full"] = "linear",
) -> SteinTest:
    """Test whether rows follow a fitted model inside its region, by a kernel Stein discrepancy.

    It needs no normalising constant, and it accounts for the truncation and for the estimated parameters. It detects
    every departure from the model that is as wide as the kernel, while ``fit.goodness_of_fit_`` uses a few equations.

    Parameters
    ----------
    fit
        A fitted estimator.
    X
        The rows that it was fitted to, shape (n, D). Rows outside the region are an error or left out, as in the fit.
    bandwidth
        Width of the Gaussian kernel in embedding coordinates; by default the median distance between rows.
    n_resamples
        For ``method="full"``: number of random sign changes that give the p-value.
    random_state
        None, an int or a `numpy.random.Generator`: for the pairs of rows whose median distance is the default
        bandwidth, and for the signs.
    groups
        Labels, shape (n,), of groups within which rows may depend on each other. A fit that was made with groups keeps
        them up to 65,536 rows; with more rows, give them again.
    method
        "linear": the kernel is projected on at most 100 of the rows, the inducing points, and the p-value comes from
        the distribution of the statistic. "full": all pairs of rows, and a p-value from random signs.

    Returns
    -------
    statistic, p_value, bandwidth

    Notes
    -----
    The time of "linear" is proportional to n, and its memory is fixed. The time of "full" grows with n² and its memory
    with n: 10,000 rows take some seconds and less than 1 GB.

    Inducing points are added until 0.01 % of the trace of the kernel is missing. On surfaces some 40 are enough, and
    both methods give the same p-values. In ten dimensions 3 % are missing with 100 points. The test is still valid, but
    does not detect what only the missing part would show.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(
    ...     300, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0
    ... )
    >>> fit = tmsm.ScoreMatching(model, region).fit(X)
    >>> bool(tmsm.stein_test(fit, X).p_value > 0.01)
    True
    """
    if not isinstance(fit, Fitted):
        raise InvalidTypeError(f"fit must be a fitted estimator; got {type(fit).__name__}.")
    check_option(method, _METHODS, "method")
    found = fit.result_
    if found.kept.source.weighted:
        raise InvalidInputError("The Stein test takes rows that count alike; this fit was made with sample_weight.")
    n_resamples = check_count(n_resamples, "n_resamples", at_least=19)
    rng = check_random_state(random_state)
    rows = Rows.of(X, found.region, outside=found.configuration.get("outside", "drop"))
    found.check_rows(rows)
    rows = found.with_groups(found.with_covariates(rows), groups)
    groups_inside = None if rows.groups is None else GroupsInside.of(rows)
    _check_number(found, groups_inside)
    some = found.region.manifold.functions(np.ascontiguousarray(rows.sample().X))
    bandwidth = _median_distance(some, rng) if bandwidth is None else check_number(bandwidth, "bandwidth", above=0.0)
    if method == "full":
        return _full_test(found, rows, bandwidth, n_resamples, rng)
    points = InducingPoints.among(some, bandwidth)
    return SteinTest(*linear_test(stein_rows(found, rows), found.influence, rows, groups_inside, points), bandwidth)


def _check_number(found: Fit, groups: GroupsInside | None) -> None:
    """Raise unless there are more rows, or groups, than parameters: else nothing is left to be judged."""
    if groups is None:
        count, what, more = found.n_samples, "rows", "more rows"
    else:
        require_groups(groups.count)
        count, what, more = groups.count, "groups", "more or finer groups"
    if count <= found.n_free:
        raise EstimationError(
            f"The {what} inside the region are {count}, and the model has {found.n_free} free parameters, which follow "
            f"any such {what}: the Stein test needs more {what} than parameters. Give {more}, or take a smaller family."
        )


def _full_test(found: Fit, rows: Rows, bandwidth: float, n_resamples: int, rng: np.random.Generator) -> SteinTest:
    features = _features(found, rows)
    # One sign for each row, or group of rows: what is independent keeps its own.
    units = np.arange(len(features.X)) if rows.groups is None else np.concatenate(list(rows.map(_group_numbers)))
    flips = rng.integers(0, 2, size=(int(units.max()) + 1, n_resamples), dtype=np.int8)[units]
    signs = flips * np.float32(2.0) - np.float32(1.0)
    return _test(features, found.influence.of(rows), bandwidth, signs)


def _features(found: Fit, rows: Rows) -> SteinRows:
    """At all rows inside the region."""
    parts = list(rows.map(stein_rows(found, rows)))
    X, *others = (np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(SteinRows))
    # The kernel sees differences only; far from the origin they would lose their digits.
    return SteinRows(X - X.mean(axis=0), *others)


def _group_numbers(block: Block) -> IntArray:
    assert block.groups is not None
    return block.groups


def _median_distance(X: FloatArray, rng: np.random.Generator) -> float:
    first, second = rng.integers(len(X), size=(2, _PAIRS))
    away = np.linalg.norm(X[first] - X[second], axis=1)[first != second]
    median = float(np.median(away)) if len(away) else 0.0
    if not median > 0.0:
        raise InvalidInputError("Most rows are identical, so a kernel has no width: give a bandwidth.")
    return median


def _test(features: SteinRows, influence: FloatArray, bandwidth: float, signs: Any) -> SteinTest:
    n, p = influence.shape
    size = max(1, _BLOCK_NUMBERS // n)
    pieces = [slice(start, start + size) for start in range(0, n, size)]
    total, flipped = 0.0, np.zeros(signs.shape[1])
    # ⟨f_i, B⟩ = the mean over j of ∂h(x_i, x_j)/∂θ_j, and ⟨B, B⟩.
    cross, gram = np.empty((n, p)), np.zeros((p, p))
    flat = features.slope.reshape(n, -1)
    for piece in with_progress(pieces, len(pieces), "Stein test"):
        rows = features[piece]
        K, H, turned = _stein_kernel(rows, features, bandwidth)
        total += float(H.sum())
        # k u(x_i) + g (P∇k), contracted with the slope at x_j.
        near = (K @ flat).reshape(-1, *features.slope.shape[1:]) / n
        cross[piece] = np.einsum("id,idp->ip", rows.u, near) + turned / n
        gram += np.einsum("idp,idq->pq", rows.slope, near) / n
        product = H.astype(np.float32) @ signs
        flipped += np.einsum("ib,ib->b", signs[piece], product)
    # Σ ε_i ε_j (h_ij + C_i·ψ_j + ψ_i·C_j + ψ_i G ψ_j)
    signed_influence, signed_cross = influence.T @ signs, cross.T @ signs
    flipped += 2.0 * np.einsum("pb,pb->b", signed_influence, signed_cross)
    flipped += np.einsum("pb,pq,qb->b", signed_influence, gram, signed_influence)
    statistic = total / n
    exceed = int(np.count_nonzero(flipped / n >= statistic))
    return SteinTest(statistic, (1 + exceed) / (1 + len(flipped)), bandwidth)


def _stein_kernel(rows: SteinRows, others: SteinRows, bandwidth: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """K and h between some rows and all, shapes (m, n), and Σ_j g_i (P∇k)_ij · slope_j, shape (m, p)."""
    X, Y = rows.X, others.X
    m, n, D = len(X), len(Y), X.shape[1]
    scale = 1.0 / bandwidth**2
    squared = np.maximum(
        np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Y, Y)[None, :] - 2.0 * (X @ Y.T), 0.0
    )
    K = np.exp(-0.5 * scale * squared)
    # ∇_x k = −(x − y) k/ℓ², ∇_y k = (x − y) k/ℓ², ∇_x∇_y k = k (I/ℓ² − (x − y)(x − y)ᵀ/ℓ⁴)
    H = rows.u @ others.u.T
    trace = rows.P.reshape(m, -1) @ others.P.reshape(n, -1).T
    turned = np.zeros((m, rows.slope.shape[2]))
    bend = np.zeros((m, n))
    for j in range(D):
        # Components of P_x (x − y) and P_y (x − y).
        here = np.einsum("id,id->i", rows.P[:, j], X)[:, None] - rows.P[:, j] @ Y.T
        there = X @ others.P[:, j].T - np.einsum("id,id->i", others.P[:, j], Y)[None, :]
        H += scale * (rows.u[:, j][:, None] * (there * others.g[None, :]) - (here * rows.g[:, None]) * others.u[:, j])
        bend += here * there
        turned -= scale * rows.g[:, None] * ((K * here) @ others.slope[:, j])
    H += np.outer(rows.g, others.g) * (scale * trace - scale**2 * bend)
    H *= K
    return K, H, turned
