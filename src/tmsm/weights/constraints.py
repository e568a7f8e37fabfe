"""Each of a few smooth constraints damps only motion across its own face, corners included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots, row_norms, safe_divide, safe_inverse
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import check_vector
from tmsm.foundation.values import frozen_array
from tmsm.regions import BorderView, ConstraintFrame
from tmsm.weights.base import Weight, WeightField
from tmsm.weights.constant import Constant
from tmsm.weights.distance import Distance
from tmsm.weights.scales import check_scale

__all__ = ["Constraints"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Constraints(Weight):
    """For regions {h_k > 0 for all k} of a few smooth functions: W = P − N (NᵀN + E)⁻¹ Nᵀ.

    N has the columns V_k = ∇h_k. E is diagonal with E_k = 2|V_k| h_k/s_k + h_k²/s_k². On the face h_k = 0 there is E_k
    = 0, so that W V_k = 0 exactly. In a corner this holds for every face that meets there. W does not change when h_k
    is multiplied by a number, and it is smooth where ∇h_k = 0. With one constraint it is P − VVᵀ/(|V| + h/s)².

    Parameters
    ----------
    scale
        The lengths s_k: a positive number, one number for each constraint, or "median": four times the medians of
        h_k/|V_k| over the rows, taken once, at the first fit.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Cap([0.0, 0.0, 1.0], 1.0) & tmsm.Cap([0.0, 1.0, 0.0], 1.0)
    >>> X = model.sample(500, region, random_state=0, mean_direction=[0.0, 0.6, 0.8], concentration=10.0)
    >>> tmsm.ScoreMatching(model, region, tmsm.weights.Constraints(0.5)).fit(X).weight_
    Constraints(scale=[0.5, 0.5])
    """

    scale: float | str | FloatArray = "median"

    # Between 2 and 8 the efficiency hardly changes; see docs/weights.md.
    _MEDIANS = 4.0

    def __post_init__(self) -> None:
        if isinstance(self.scale, str | float | int):
            object.__setattr__(self, "scale", check_scale(self.scale))
            return
        scale = check_vector(self.scale, "scale")
        if not (scale > 0.0).all():
            raise InvalidInputError(f"scale must be positive for every constraint; got {scale.tolist()}.")
        object.__setattr__(self, "scale", frozen_array(scale))

    def resolve(self, view: BorderView) -> Weight:
        region = view.region
        if not region.has_border:
            return Constant()
        constraints = region.constraints
        if constraints is None:
            raise InvalidInputError(
                "The constraint weight needs a region that is known by a few smooth functions, such as a convex "
                "polygon of few edges, an intersection of caps, or Implicit; "
                f"{type(region).__name__} is not. Use 'combined'."
            )
        K = constraints.n_constraints
        if isinstance(self.scale, str):
            frame = view.constraint_frame
            return Constraints(self._MEDIANS * np.array([_median_length(frame, k) for k in range(K)]))
        scale = np.atleast_1d(np.asarray(self.scale, dtype=np.float64))
        if scale.size not in (1, K):
            raise InvalidInputError(
                f"scale must be one number or one for each of the {K} constraints; got {scale.size}."
            )
        return Constraints(np.broadcast_to(scale, (K,)))

    def field(self, view: BorderView) -> WeightField:
        assert not isinstance(self.scale, str), "resolve() comes first"
        return _constraint_field(view.constraint_frame, np.asarray(self.scale, dtype=np.float64))

    def series(self) -> tuple[Weight, ...] | None:
        assert not isinstance(self.scale, str), "resolve() comes first"
        return self, Constraints(0.3 * np.asarray(self.scale)), Distance()


def _median_length(frame: ConstraintFrame, k: int) -> float:
    """The median of h/|∇h| over rows: to first order the distance to the face."""
    length = row_norms(frame.gradients[k])
    known = length > 1e-9 * length.max(initial=0.0)
    if not known.any():
        raise EstimationError(f"The gradient of constraint {k + 1} is zero at every row: it says nothing of a border.")
    median = float(np.median(np.abs(frame.values[known, k]) / length[known]))
    if not median > 0.0:
        raise EstimationError(
            f"More than half of the rows lie on the face of constraint {k + 1}, so the scale 'median' is zero. "
            "Give the weight a scale as a number."
        )
    return median


def _constraint_field(frame: ConstraintFrame, scale: FloatArray) -> WeightField:
    """W and its divergence.

    With m = M⁻¹, M = NᵀN + E, and a_k = Σ_l m_kl V_l,

        div(N m Nᵀ) = Σ_k (Δh_k a_k + H_k a_k) − Σ_b (Σ_a ∂_{a_a} M_ab) a_b,

    where ∂_v M_ab = ⟨H_a v, V_b⟩ + ⟨H_b v, V_a⟩ + δ_ab ∂_v E_a.
    """
    V, h, K = frame.gradients, np.maximum(frame.values, 0.0), len(frame.gradients)
    length = [row_norms(one) for one in V]
    depth = [h[:, k] / scale[k] for k in range(K)]
    size = [length[k] + depth[k] for k in range(K)]  # M_kk = (|V_k| + h_k/s_k)²
    unit = [np.where(one > 0.0, safe_inverse(one), 0.0) for one in size]  # h = 0 and ∇h = 0: the face is not there
    roots, A = _whitened([V[k] * unit[k][:, None] for k in range(K)])
    A = [one * unit[k][:, None] for k, one in enumerate(A)]
    total = np.zeros_like(V[0])
    slopes = [np.zeros(len(h)) for _ in range(K)]  # Σ_a ∂_{a_a} M_ab
    for k in range(K):
        for b in range(K):
            bent = frame.bend(b, A[k])
            slopes[b] += row_dots(bent, V[k])
            if b == k:
                total += frame.laplacians[:, [k]] * A[k] + bent
                for other in range(K):
                    slopes[other] += row_dots(bent, V[other])
                steeper = row_dots(bent, safe_divide(V[k], length[k]))  # ∂_{a_k} |V_k|
                slopes[k] += 2.0 / scale[k] * (h[:, k] * steeper + size[k] * row_dots(A[k], V[k]))
    for b in range(K):
        total -= slopes[b][:, None] * A[b]
    directions = []
    for root in roots:
        long = row_norms(root)
        directions.append((safe_divide(root, long), -(long**2), 0.0))
    return WeightField(isotropic=1.0, directions=(*directions, (total, None, -1.0)))


def _whitened(
    U: list[FloatArray],
) -> tuple[list[FloatArray], list[FloatArray]]:
    """L⁻¹U and C⁻¹U, K arrays (n, D) each, for the matrix C = LLᵀ of a row: ⟨U_a, U_b⟩ off, one on its diagonal.

    Row by row in arrays of all rows: matrices are of a few rows only, and library routines would be slow at them.
    """
    K = len(U)
    L: list[list[FloatArray]] = [[] for _ in range(K)]
    for a in range(K):
        for b in range(a):
            entry = row_dots(U[a], U[b])
            for j in range(b):
                entry -= L[a][j] * L[b][j]
            L[a].append(entry * safe_inverse(L[b][b]))
        rest = np.ones(len(U[a]))
        for entry in L[a]:
            rest -= entry**2
        L[a].append(np.sqrt(np.maximum(rest, 1e-30)))
    roots: list[FloatArray] = []
    for a in range(K):
        row = U[a].copy()
        for b in range(a):
            row -= L[a][b][:, None] * roots[b]
        roots.append(row / L[a][a][:, None])
    inverse: list[FloatArray] = [root.copy() for root in roots]
    for a in reversed(range(K)):
        for b in range(a + 1, K):
            inverse[a] -= L[b][a][:, None] * inverse[b]
        inverse[a] /= L[a][a][:, None]
    return roots, inverse
