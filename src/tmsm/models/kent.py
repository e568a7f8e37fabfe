"""Kent's family on S²: log p = κ μ·x + β ((γ₁·x)² − (γ₂·x)²), and the paper's form with two ovalnesses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import as_float_array, check_concentration, check_flag, check_number, check_unit_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Manifold, Sphere
from tmsm.models.base import Model
from tmsm.models.constraints import AffineSubspace, Constraint
from tmsm.models.fisher_bingham import start_from_resultant
from tmsm.models.harmonic import HarmonicFamily
from tmsm.models.local import local_form
from tmsm.models.orbits import OrbitPoint, RotationOrbit
from tmsm.models.parameters import Field, Parameters
from tmsm.models.readings import Reading, azimuth_reading, length_reading, turned_east

__all__ = ["Kent"]

_PLANES = ((0, 1), (0, 2), (1, 2))
_HALF_ROOT = float(np.sqrt(0.5))
# Shapes in the frame (μ, γ₁, γ₂) = (e₁, e₂, e₃).
_MEAN = (np.eye(3)[0], np.zeros((3, 3)))
_OVAL = tuple((np.zeros(3), np.diag(np.eye(3)[k])) for k in (1, 2))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Kent(HarmonicFamily):
    """Kent family on S²: a density with oval contours around a mean direction.

    log p = κ μ·x + β ((γ₁·x)² − (γ₂·x)²) + const with orthonormal, right-handed axes (μ, γ₁, γ₂): mean direction, major
    and minor axis. The ovalness β is not negative. An axis and its opposite mean the same; the major axis points
    eastwards, its azimuth is in [0°, 180°).

    Parameters
    ----------
    concentration
        κ if it is known. None, the default: it is estimated.
    ovalness
        β if it is known; with ``balanced=False`` the pair (α₁, α₂). None, the default: it is estimated.
    unimodal
        Whether the ovalness is at most concentration/2, so that the density has one mode. Score matching does not
        determine the masses of separate modes. Without this bound the best fit to data with one mode sometimes has two.
    balanced
        Whether α₂ = −α₁ = −β, as in Kent's family. If False, the axes have ovalnesses of their own, α₁ ≥ α₂: log p = κ
        μ·x + α₁ (γ₁·x)² + α₂ (γ₂·x)².

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> model, region = tmsm.Kent(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> truth = {"mean_direction": [0, -1, 0], "major_axis": [0, 0, 1], "concentration": 10.0, "ovalness": 3.0}
    >>> X = model.sample(3000, region, random_state=0, **truth)
    >>> fit = tmsm.ScoreMatching(model, region).fit(X)
    >>> bool(abs(fit.params_.ovalness - 3.0) < 3 * fit.std_errors_.ovalness)
    True
    """

    concentration: float | None = None
    ovalness: Any = None
    unimodal: bool = True
    balanced: bool = True

    home = Sphere(2)
    has_linear = True

    def __init__(
        self,
        concentration: float | None = None,
        ovalness: ArrayLike | None = None,
        *,
        unimodal: bool = True,
        balanced: bool = True,
    ) -> None:
        object.__setattr__(self, "unimodal", check_flag(unimodal, "unimodal"))
        object.__setattr__(self, "balanced", check_flag(balanced, "balanced"))
        if concentration is not None:
            concentration = check_concentration(concentration)
        object.__setattr__(self, "concentration", concentration)
        object.__setattr__(self, "ovalness", None if ovalness is None else self._known_ovalness(ovalness))
        if concentration is not None and ovalness is not None and unimodal:
            largest = float(np.max(self.ovalness))
            if not self._is_unimodal(concentration, largest):
                raise InvalidInputError(
                    f"An ovalness of {largest:.6g} is beyond half the concentration of {concentration:.6g}: "
                    "the density would have two modes. Pass unimodal=False if that is meant."
                )

    def __repr__(self) -> str:
        known = self.ovalness.tolist() if isinstance(self.ovalness, np.ndarray) else self.ovalness
        flags = "".join(f", {name}=False" for name in ("unimodal", "balanced") if not getattr(self, name))
        return f"Kent(concentration={self.concentration!r}, ovalness={known!r}{flags})"

    @property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        """Names and kinds of the parameters."""
        return (
            Field("mean_direction", "direction", is_centre=True),
            Field("major_axis", "direction", is_axis=True),
            Field("minor_axis", "direction", is_axis=True),
            Field("concentration", lowest=0.0),
            Field("ovalness", lowest=0.0 if self.balanced else -np.inf),
        )

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "the sphere S²", " FisherBingham() is its generalisation to any sphere."

    def usual_manifold(self, n_columns: int) -> Manifold:
        self.check_manifold(manifold := super().usual_manifold(n_columns))
        return manifold

    def centred(self, X: FloatArray) -> Model:
        return local_form(self, X)

    def make_constraint(self) -> Constraint:
        # Each shape is a row of coefficients of (κ, α₁, α₂) for the offset and for each free parameter.
        both = np.array([[0.0, 1.0, -1.0]]) if self.balanced else np.eye(3)[1:]
        offset, free = np.zeros(3), []
        if self.concentration is None:
            free.append(np.eye(3)[0])
        else:
            offset[0] = self.concentration
        if self.ovalness is None:
            free.extend(both)
        else:
            offset[1:] = (self.ovalness, -self.ovalness) if self.balanced else self.ovalness
        faces: list[RotationOrbit] = []
        if self.unimodal and self._is_free:
            faces = [self._orbit(*face) for face in self._faces()]
        return self._orbit(offset, np.array(free).reshape(-1, 3), tuple(faces))

    def slice(self, name: str, value: Any) -> Constraint | None:
        if name == "mean_direction":
            return self._with_mean(np.asarray(value))
        if name not in ("concentration", "ovalness") or getattr(self, name) is not None or not self.balanced:
            return None
        if value == 0.0:
            if self.concentration is not None or self.ovalness is not None:
                return None
            # Without ovalness a vector is left; without concentration, and with one mode, nothing.
            return AffineSubspace(np.zeros(8), np.eye(8)[:, : 3 if name == "ovalness" else 0])
        known = {"concentration": self.concentration, "ovalness": self.ovalness, name: value}
        if self.unimodal and None not in known.values() and not self._is_unimodal(*map(float, known.values())):
            return None
        return Kent(**known, unimodal=self.unimodal).constraint

    def _with_mean(self, mean: FloatArray) -> Constraint:
        """The θ of the family with this mean direction: κ, the ovalness and the turn of the oval are free."""

        def held(orbit: RotationOrbit) -> RotationOrbit:
            def frame(theta: FloatArray) -> FloatArray:
                return _frame(mean, self.split(theta)[1])

            def frames(theta: FloatArray) -> list[FloatArray]:
                own = frame(theta)
                eighth = np.array([[1.0, 0.0, 0.0], [0.0, _HALF_ROOT, -_HALF_ROOT], [0.0, _HALF_ROOT, _HALF_ROOT]])
                return [own, own @ eighth]

            return replace(
                orbit,
                planes=((1, 2),),
                frame=frame,
                frames=frames,
                wanted=lambda theta: bool(self.split(theta)[0] @ mean >= 0.0) and self._allows(theta),
                faces=tuple(held(face) for face in orbit.faces if isinstance(face, RotationOrbit)),
            )

        orbit = self.constraint
        assert isinstance(orbit, RotationOrbit)
        orbit = held(orbit)
        if self.concentration is None and self.ovalness is None:  # the uniform density has every direction
            orbit = replace(orbit, faces=(*orbit.faces, AffineSubspace(np.zeros(8), np.zeros((8, 0)))))
        return orbit

    @property
    def _is_free(self) -> bool:
        return self.concentration is None or self.ovalness is None

    def _faces(self) -> list[tuple[FloatArray, FloatArray]]:
        """Where the density is about to have a second mode: (offset, free) of each border."""
        kappa, oval = self.concentration, self.ovalness
        nothing, none = np.zeros(3), np.zeros((0, 3))
        if self.balanced:
            shape = np.array([1.0, 0.5, -0.5])  # β = κ/2
            if kappa is None and oval is None:
                return [(nothing, shape[None])]
            return [(shape * (2.0 * oval if kappa is None else kappa), none)]
        if oval is not None:
            largest = float(np.max(oval))
            return [(np.array([2.0 * abs(largest), *oval]), none)]
        out: list[tuple[FloatArray, FloatArray]] = []
        for half in (0.5, -0.5):  # the larger ovalness at ± κ/2, the smaller free or there too
            for shape, free in (
                (np.array([1.0, half, 0.0]), np.eye(3)[2:]),
                (np.array([1.0, half, half]), none),
            ):
                if kappa is None:
                    out.append((nothing, np.vstack([shape, free])))
                else:
                    out.append((kappa * shape, free))
        return out

    def _orbit(self, offset: FloatArray, free: FloatArray, faces: tuple[RotationOrbit, ...] = ()) -> RotationOrbit:
        shapes = np.array([self.join(*_MEAN), *(self.join(*oval) for oval in _OVAL)])  # (3, 8)
        return RotationOrbit(
            embedding_dim=3,
            offset=offset @ shapes,
            basis=(free @ shapes).T,
            planes=_PLANES,
            linear=True,
            frame=self._own_frame,
            frames=self._frames,
            wanted=self._allows,
            words=self._describe,
            faces=faces,
        )

    def _own_frame(self, theta: FloatArray) -> FloatArray:
        return _frame_of(theta.tobytes())

    def _frames(self, theta: FloatArray) -> list[FloatArray]:
        """The frame of θ's mean direction, and those whose mean direction is a principal axis of S."""
        linear, quadratic = self.split(theta)
        axes = np.linalg.eigh(quadratic)[1].T[[1, 0, 2]]
        along = [_frame(axis if axis @ linear >= 0.0 else -axis, quadratic) for axis in axes]
        return [self._own_frame(theta), *along]

    def _allows(self, theta: FloatArray) -> bool:
        if not self.unimodal:
            return True
        shape = self._shape(theta)
        return self._is_unimodal(shape[0], max(shape[1:]), 1e-9)

    def _is_unimodal(self, kappa: float, largest: float, slack: float = 0.0) -> bool:
        # Along γ₁ the slope is sin s (2α₁ cos s − κ); both α below −κ/2 make −μ a second mode.
        limit = 0.5 * kappa * (1.0 + slack)
        return bool(-limit <= largest <= limit)

    def _shape(self, theta: FloatArray) -> tuple[float, float, float]:
        """κ, α₁ ≥ α₂ of a θ of the family."""
        linear, quadratic = self.split(theta)
        frame = self._own_frame(theta)
        along = (frame * (quadratic @ frame)).sum(axis=0)
        if self.balanced:
            beta = 0.5 * float(along[1] - along[2])
            return float(np.linalg.norm(linear)), beta, -beta
        return float(np.linalg.norm(linear)), float(along[1] - along[0]), float(along[2] - along[0])

    def _describe(self, theta: FloatArray, on_face: bool) -> str:
        if on_face:
            return (
                "The best fit with one mode: at the limit where a second one begins, and the data ask for more. "
                "Errors are those of a fit that may pass it. If the data are bimodal or axial, "
                "use unimodal=False, FisherBingham() or Bingham()."
            )
        kappa, first, _ = self._shape(theta)
        if self.unimodal or self._is_unimodal(kappa, first):
            return "The best minimum found: one mode."
        return (
            "The best minimum found has two modes; score matching does not see how the mass is shared between "
            "separate modes. With unimodal=True the fit keeps to one."
        )

    def parameters(self, theta: FloatArray) -> Parameters:
        if not np.linalg.norm(theta[:3]) > 0.0:
            raise EstimationError(
                "The estimated concentration is zero, so there is no mean direction. For axial data use Bingham()."
            )
        kappa, first, second = self._shape(theta)
        frame = self._own_frame(theta)
        oval = first if self.balanced else np.array([first, second])
        return Parameters(
            mean_direction=frame[:, 0],
            major_axis=frame[:, 1],
            minor_axis=frame[:, 2],
            concentration=kappa if self.concentration is None else self.concentration,
            ovalness=oval if self.ovalness is None else self.ovalness,
        )

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        azimuth = azimuth_reading("major_axis", params.mean_direction, params.major_axis)
        found = [] if azimuth is None else [azimuth]
        if self.balanced:
            # At the centre the density falls like exp(−(κ ∓ 2β) s²/2) along the axes.
            kappa, beta = params.concentration, params.ovalness
            for name, sign in (("major (1σ)", -2.0), ("minor (1σ)", 2.0)):
                slopes = {"concentration": 1.0, "ovalness": sign}
                found.append(length_reading(name, kappa + sign * beta, slopes, after="ovalness"))
        return tuple(found)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        constraint = self.constraint
        assert isinstance(constraint, RotationOrbit)
        point: OrbitPoint = constraint.point(theta)
        shape = point.shape_jacobian()
        n_concentration = int(self.concentration is None)
        none = np.zeros((1 if self.balanced else 2, theta.size))
        return {
            "mean_direction": point.frame_jacobian(0),
            "major_axis": point.frame_jacobian(1),
            "minor_axis": point.frame_jacobian(2),
            "concentration": shape[:1] if n_concentration else np.zeros((1, theta.size)),
            "ovalness": shape[n_concentration:] if self.ovalness is None else none,
        }

    def natural_parameters(  # type: ignore[override]
        self,
        *,
        mean_direction: ArrayLike,
        major_axis: ArrayLike | None = None,
        minor_axis: ArrayLike | None = None,
        concentration: float | None = None,
        ovalness: ArrayLike | None = None,
    ) -> FloatArray:
        mu = check_unit_vector(mean_direction, "mean_direction")
        if mu.size != 3:
            raise InvalidInputError(f"Kent lives on S²: mean_direction must have 3 entries; it has {mu.size}.")
        kappa = self._known_or("concentration", concentration)
        oval = self._known_or("ovalness", ovalness)
        frame = _frame_from_axes(mu, major_axis, minor_axis)
        kappa = check_concentration(kappa, at_least=0.0)
        if self.balanced:
            beta = check_concentration(oval, "ovalness", at_least=0.0)
            first, second = beta, -beta
        else:
            first, second = self._known_ovalness(oval)
        linear = kappa * mu
        quadratic = first * np.outer(frame[:, 1], frame[:, 1]) + second * np.outer(frame[:, 2], frame[:, 2])
        return self.join(linear, quadratic)

    def _known_ovalness(self, values: Any) -> Any:
        if self.balanced:
            return check_number(
                values,
                "ovalness",
                above=0.0,
                hint="With none the family is VonMisesFisher; for two ovalnesses pass balanced=False.",
            )
        pair = as_float_array(values, "ovalness")
        if pair.shape != (2,) or not (pair[0] > pair[1] and np.abs(pair).max() < 1e10):
            raise InvalidInputError(
                f"ovalness must be a pair (α₁, α₂) with α₁ > α₂ where balanced=False; got {pair.tolist()}."
            )
        return frozen_array(pair)

    def _likelihood_starts(self, mean: FloatArray) -> list[FloatArray]:
        # At high concentration the variances along the axes are 1/(κ ∓ 2β).
        start = start_from_resultant(mean, 3)
        start[3:] = 0.5 * (start[:3] @ start[:3]) * mean[3:]
        return [start]


@lru_cache(maxsize=64)  # a fit asks for the frame of its θ a dozen times
def _frame_of(theta_bytes: bytes) -> FloatArray:
    linear, quadratic = Kent().split(np.frombuffer(theta_bytes))
    length = float(np.linalg.norm(linear))
    frame = _frame(linear / length if length > 0.0 else np.eye(3)[0], quadratic)
    frame.flags.writeable = False
    return frame


def _frame(mean: FloatArray, quadratic: FloatArray) -> FloatArray:
    """(μ, γ₁, γ₂) with the principal axes of S across μ, larger first, right-handed."""
    first = np.eye(3)[np.argmin(np.abs(mean))]
    first = first - (first @ mean) * mean
    first /= np.linalg.norm(first)
    across = np.column_stack([first, _cross(mean, first)])
    turned = np.linalg.eigh(across.T @ quadratic @ across)[1]
    major = turned_east(mean, across @ turned[:, 1])
    return np.column_stack([mean, major, _cross(mean, major)])


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """A × b for two vectors; NumPy's own takes ten times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _frame_from_axes(mu: FloatArray, major_axis: Any, minor_axis: Any) -> FloatArray:
    """The frame from the mean and one or both of the other axes."""
    if major_axis is None and minor_axis is None:
        raise InvalidInputError("major_axis (or minor_axis) must be given: the oval has a direction.")
    axes = {}
    for name, values in (("major_axis", major_axis), ("minor_axis", minor_axis)):
        if values is not None:
            axis = check_unit_vector(values, name)
            if axis.size != 3 or not abs(float(axis @ mu)) <= 1e-6:
                raise InvalidInputError(
                    f"{name} must be perpendicular to mean_direction; their product is {float(axis @ mu):.6g}."
                    if axis.size == 3
                    else f"{name} must have 3 entries; it has {axis.size}."
                )
            axis = axis - (axis @ mu) * mu
            axes[name] = axis / np.linalg.norm(axis)
    if len(axes) == 2 and not abs(float(axes["major_axis"] @ axes["minor_axis"])) <= 1e-6:
        raise InvalidInputError("major_axis and minor_axis must be perpendicular.")
    major = axes["major_axis"] if "major_axis" in axes else _cross(axes["minor_axis"], mu)
    return np.column_stack([mu, major, _cross(mu, major)])
