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

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.progress import with_progress
from tmsm.foundation.validation import check_count, check_number, check_random_state
from tmsm.inference.fit import Fit, Fitted
from tmsm.weights import saturating_at

__all__ = ["SteinTest", "stein_test"]

# Numbers in one block of the n × n matrices; about eight such are alive at a time.
_BLOCK_NUMBERS = 2_000_000
_PAIRS = 1000


class SteinTest(NamedTuple):
    """The statistic, the share of bootstrap replicates that reach it, and the width of the kernel."""

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
) -> SteinTest:
    """Test whether rows follow a fitted model inside its region, by a kernel Stein discrepancy.

    It needs no normalising constant, holds under truncation and accounts for the estimated parameters.  It
    sees any departure from the model that a kernel of its width can resolve, where ``fit.goodness_of_fit_``
    looks at a few equations.

    Parameters
    ----------
    fit
        A fitted estimator.
    X
        The rows that it was fitted to, shape (n, D).
    bandwidth
        Width of the Gaussian kernel in embedding coordinates; by default the median distance between rows.
    n_resamples
        Number of sign flips that the p-value is taken from.
    random_state
        None, an int or a `numpy.random.Generator`.
    groups
        Labels, shape (n,), of groups within which rows may depend on each other.  A fit that was made with groups keeps
        them up to 65,536 rows, and only beyond that they must be given again.

    Returns
    -------
    statistic, p_value, bandwidth

    Notes
    -----
    Time grows like n², memory like n: 10,000 rows take some seconds and less than 1 GB.

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
    found = fit.result_
    if found.kept.source.weighted:
        raise InvalidInputError("The Stein test takes rows that count alike; this fit was made with sample_weight.")
    n_resamples = check_count(n_resamples, "n_resamples", at_least=19)
    rng = check_random_state(random_state)
    rows = Rows.of(X, found.region, outside="drop")
    found.check_rows(rows)
    rows = found.with_groups(found.with_covariates(rows), groups)
    features = _features(found, rows)
    n = len(features.X)
    if bandwidth is None:
        bandwidth = _median_distance(features.X, rng)
    else:
        bandwidth = check_number(bandwidth, "bandwidth", above=0.0)
    # One sign for each row, or group of rows: what is independent keeps its own.
    units = np.arange(n) if rows.groups is None else np.concatenate(list(rows.map(_group_numbers)))
    flips = rng.integers(0, 2, size=(int(units.max()) + 1, n_resamples), dtype=np.int8)[units]
    signs = flips * np.float32(2.0) - np.float32(1.0)
    return _test(features, found.influence.of(rows), bandwidth, signs)


@dataclass(frozen=True)
class _Features:
    """At the rows: points (n, E), g, u (n, E), the projectors P (n, E, E) and the slopes ∂u/∂θ = g ∇t (n, E, p)."""

    X: FloatArray
    g: FloatArray
    u: FloatArray
    P: FloatArray
    slope: FloatArray

    def __getitem__(self, piece: slice) -> _Features:
        return _Features(self.X[piece], self.g[piece], self.u[piece], self.P[piece], self.slope[piece])


def _features(found: Fit, rows: Rows) -> _Features:
    region = rows.region
    manifold, E, tangent = region.manifold, region.manifold.n_functions, found.model.tangent(found.theta)
    weight = saturating_at(rows.sample().view, 1.0)

    def block_features(block: Block) -> tuple[FloatArray, ...]:
        Y = np.ascontiguousarray(block.X)
        field = weight.field(block.view)
        g = np.broadcast_to(np.asarray(field.isotropic), len(Y)).astype(np.float64)
        psi, slopes = found.log_gradient(block)
        if found.exposure is not None:
            psi = psi + found.exposure.gradient(Y)
        u = g[:, None] * manifold.function_laplacians(Y)
        u += manifold.function_velocity(Y, g[:, None] * psi + field.divergence(Y))
        axes = [manifold.function_gradient(Y, e) for e in np.eye(E)]
        P = np.stack([manifold.function_velocity(Y, axis) for axis in axes], axis=2)
        # ∂ψ/∂θ, column by column of the embedding space.
        slope = np.stack([tangent.gradient_dot(Y, axis) for axis in axes], axis=1) * g[:, None, None]
        slope = slope if slopes is None else slope @ slopes
        return manifold.functions(Y), g, u, P, slope

    X, *others = (np.concatenate(parts) for parts in zip(*rows.map(block_features), strict=True))
    # The kernel sees differences only; far from the origin they would lose their digits.
    return _Features(X - X.mean(axis=0), *others)


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


def _test(features: _Features, influence: FloatArray, bandwidth: float, signs: Any) -> SteinTest:
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


def _stein_kernel(rows: _Features, others: _Features, bandwidth: float) -> tuple[FloatArray, FloatArray, FloatArray]:
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
