"""The sine model, or multivariate von Mises family, on the torus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.models.parameters import Field
from tmsm.models.torus import interactions
from tmsm.models.torus_mean import MeanAngleFamily, pair_modes
from tmsm.models.torus_orbits import TorusOrbit
from tmsm.numerics.torus_cells import TorusCells, torus_cells

__all__ = ["SineVonMises"]

# With more angles than these draws are proposed angle by angle.
_JOINT_ANGLES = 3


@final
@dataclass(frozen=True, eq=False, repr=False)
class SineVonMises(MeanAngleFamily):
    """Multivariate von Mises family on the torus, the sine model: several angles that depend on each other.

    log p = Σ_j κ_j cos(φ_j − μ_j) + ½ Σ_{j≠k} λ_jk sin(φ_j − μ_j) sin(φ_k − μ_k) + const for angles φ in radians,
    two or more.  Its parameters are ``mean_angles`` μ, shape (dim,), ``concentration`` κ, shape (dim,), and
    ``interaction`` λ, a symmetric matrix (dim, dim) with zeros on its diagonal.

    Notes
    -----
    The matrix with κ_j on its diagonal and −λ_jk elsewhere is kept positive semidefinite.  Then the density has one
    mode, at the mean: at any mode all cos(φ_j − μ_j) are positive, and the sum of κ_j s_j²/cos(φ_j − μ_j) equals sᵀλs
    with s_j = sin(φ_j − μ_j), which is possible for s = 0 alone.  Without this rule the best fit to data with one mode
    now and then has several, since score matching does not see the masses of separate modes.

    Draws are exact.  With more than three angles their cost grows like ε^(−dim/2), ε the smallest eigenvalue of that
    matrix scaled to ones on its diagonal, whatever the concentration.  On the whole torus the density is normalised on
    a grid, for up to three angles and a moderate concentration.

    References
    ----------
    Mardia, Hughes, Taylor and Singh 2008, A multivariate von Mises distribution with applications to bioinformatics.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> model, box = tmsm.SineVonMises(), tmsm.AngleBox([-1.2, -1.5], [1.0, 1.0])
    >>> truth = {"mean_angles": [1.0, 0.2], "concentration": [3.0, 2.0], "interaction": [[0.0, 1.0], [1.0, 0.0]]}
    >>> X = model.sample(3000, box, random_state=0, **truth)
    >>> fit = tmsm.ScoreMatching(model, box).fit(X)
    >>> bool((abs(fit.params_.mean_angles - truth["mean_angles"]) < 3 * fit.std_errors_.mean_angles).all())
    True
    """

    fields = (
        Field("mean_angles", is_angle=True),
        Field("concentration", lowest=0.0),
        Field("interaction", is_hollow=True),
    )
    peak_condition = (
        "the matrix with concentration on its diagonal and −interaction elsewhere has to be positive definite"
    )

    def orbit_of(self, dim: int) -> TorusOrbit:
        return _orbit(dim)

    def _angles(self, n: int, rng: np.random.Generator, theta: FloatArray) -> FloatArray:
        point = self._point(theta)
        d = point.mean.size
        if d <= _JOINT_ANGLES:
            return super()._angles(n, rng, theta)
        return _angle_by_angle(n, rng, point.mean, point.shape)


@lru_cache(maxsize=32)
def _orbit(dim: int) -> TorusOrbit:
    j, k = interactions(dim)
    pairs = len(j)
    # sin a sin b = ½ cos(a − b) − ½ cos(a + b).
    basis = np.zeros((dim + 2 * pairs, dim + pairs))
    basis[:dim, :dim] = np.eye(dim)
    basis[dim : dim + pairs, dim:] = -0.5 * np.eye(pairs)
    basis[dim + pairs :, dim:] = 0.5 * np.eye(pairs)
    curvature = np.zeros((dim + pairs, dim, dim))
    curvature[range(dim), range(dim), range(dim)] = 1.0
    curvature[range(dim, dim + pairs), j, k] = curvature[range(dim, dim + pairs), k, j] = -1.0
    modes: IntArray = pair_modes(dim, (1, -1))
    return TorusOrbit(modes, basis, curvature, signed=False, words=_describe)


def _describe(on_face: bool) -> str:
    if on_face:
        return (
            "The best fit with one mode: at the limit where a second one begins, and the data ask for more. "
            "Errors are those of a fit that may pass it. If the data have several modes, use "
            "models.TrigonometricFamily(2)."
        )
    return "The best minimum found: one mode, at the mean."


def _angle_by_angle(n: int, rng: np.random.Generator, mean: FloatArray, shape: FloatArray) -> FloatArray:
    """Draws with independent proposals.

    With P the matrix of κ and −λ, log p = Σ κ_j (cos x_j + ½ sin² x_j) − ½ sᵀPs, and P − εD is positive semidefinite
    for D = diag κ and the smallest eigenvalue ε of D^{−½} P D^{−½}.  So Σ κ_j (cos x_j + ½ (1 − ε) sin² x_j) is a
    bound, and ½ sᵀ(P − εD)s what a proposal loses.
    """
    d = mean.size
    kappa = shape[:d]
    P = _orbit(d).matrix(shape)
    scale = 1.0 / np.sqrt(np.maximum(kappa, 1e-300))
    epsilon = max(float(np.linalg.eigvalsh(P * np.outer(scale, scale))[0]), 0.0)
    rest = P - epsilon * np.diag(kappa)
    cells = [_proposal(float(each), epsilon) for each in kappa]
    out = np.empty((n, d))
    filled, rate = 0, 1.0
    while filled < n:
        size = int(min(2**17, 1.1 * (n - filled) / rate + 16))
        x = np.column_stack([cell.draw(size, rng)[:, 0] for cell in cells])
        s = np.sin(x)
        kept = x[np.log1p(-rng.random(size)) <= -0.5 * np.einsum("ni,ij,nj->n", s, rest, s, optimize=True)]
        rate = max(len(kept) / size, 1e-4)
        kept = kept[: n - filled]
        out[filled : filled + len(kept)] = kept
        filled += len(kept)
    return np.remainder(out + mean + np.pi, 2.0 * np.pi) - np.pi


@lru_cache(maxsize=64)
def _proposal(kappa: float, epsilon: float) -> TorusCells:
    # ½ κ (1 − ε) sin² x = const − ¼ κ (1 − ε) cos 2x.
    theta = np.array([kappa, 0.0, -0.25 * kappa * (1.0 - epsilon), 0.0])
    return torus_cells(np.array([[1], [2]], dtype=np.intp), theta)
