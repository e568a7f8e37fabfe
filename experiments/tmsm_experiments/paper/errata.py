"""Where the printed formulas and the reference code go wrong: a small experiment each, in plain NumPy.

Every experiment has the right computation beside the wrong one, on the same rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import tmsm
from tmsm_experiments.cells import Store, run_cells
from tmsm_experiments.paper.settings import HEMISPHERE, KENT_KNOWN, TRUE_MEAN, VMF_UNKNOWN

SEEDS = 40
ROWS = 10_000
PRINTED, RIGHT = "as printed", "right"
MIXED, MINIMISED = "true distance, printed gradient", "printed formula throughout"
VERTEX = "nearest vertex"
WRONG = (PRINTED, MIXED, VERTEX)
# Where a wrong variant stands: in the paper, or in the reference implementation (the R package truncsm).
STANDS_IN = {RIGHT: "–", PRINTED: "print", MINIMISED: "print", MIXED: "code", VERTEX: "code"}
BOX = tmsm.LonLatBox(-40, 0, 40, 50)
BAND = tmsm.LonLatBox(-180, 0, 180, 50)
BOX_MEAN = tmsm.lonlat_to_xyz(0.0, 10.0)
COAST_MEAN = tmsm.lonlat_to_xyz(-80.0, 31.0)
COAST_CONCENTRATION = 60.0


def linear_fit(gradient: np.ndarray, laplacian: np.ndarray, g: np.ndarray, slope: np.ndarray, crossed=None):
    """θ̂ = −A⁻¹b with A = mean g⟨∇t, ∇t⟩ and b = mean [g Δt + ⟨∇g, ∇t⟩]; ``crossed`` masks A.

    Shapes: gradient (n, p, D), laplacian (n, p), g (n,), slope (n, D).
    """
    A = np.einsum("n,npi,nqi->pq", g, gradient, gradient, optimize=True) / len(g)
    b = (g[:, None] * laplacian + np.einsum("npi,ni->np", gradient, slope)).mean(axis=0)
    return -np.linalg.solve(A if crossed is None else A * crossed, b)


def tangent_projectors(X: np.ndarray) -> np.ndarray:
    """P = I − xxᵀ: the gradients of t(x) = x, shape (n, 3, 3)."""
    return np.eye(3) - X[:, :, None] * X[:, None, :]


def concentration_and_error(vector: np.ndarray, mean: np.ndarray) -> tuple[float, float]:
    """Length of κμ, and its angle to the true mean in degrees."""
    length = float(np.linalg.norm(vector))
    if length < 1e-9:  # rounding
        return 0.0, np.nan
    return length, float(np.degrees(np.arccos(np.clip(vector @ mean / length, -1.0, 1.0))))


def laplacian_term(seed: int) -> Iterator[tuple[str, str, float, float]]:
    """Von Mises–Fisher: Δ log p printed as −2 tr{Pψxᵀ}, which is zero because xᵀP = 0; it is −2 κ μ·x."""
    for place, region in (("hemisphere", HEMISPHERE), ("whole sphere", tmsm.Everywhere(tmsm.Sphere(2)))):
        X = VMF_UNKNOWN.family.sample(ROWS, region, random_state=seed, **VMF_UNKNOWN.truth)
        g, slope = region.border_distance(X) if region.has_border else (np.ones(ROWS), np.zeros((ROWS, 3)))
        P = tangent_projectors(X)
        for variant, laplacian in ((RIGHT, -2.0 * X), (PRINTED, -2.0 * np.einsum("nij,nj->ni", P, X))):
            yield place, variant, *concentration_and_error(linear_fit(P, laplacian, g, slope), TRUE_MEAN)


def kent_cross_term(seed: int) -> Iterator[tuple[str, str, float, float]]:
    """Kent: ⟨ψ, ψ⟩ printed without the product of κμ and the quadratic part."""
    X = KENT_KNOWN.family.sample(ROWS, HEMISPHERE, random_state=seed, **KENT_KNOWN.truth)
    g, slope = HEMISPHERE.border_distance(X)
    model = tmsm.FisherBingham()
    gradient = np.einsum("npi,nij->npj", model.gradient(X), tangent_projectors(X))
    without = np.ones((8, 8))
    without[:3, 3:] = without[3:, :3] = 0.0
    for variant, crossed in ((RIGHT, None), (PRINTED, without)):
        theta = linear_fit(gradient, model.laplacian(X), g, slope, crossed)
        yield "hemisphere, 8-parameter linear form", variant, *concentration_and_error(theta[:3], TRUE_MEAN)


def haversine(seed: int) -> Iterator[tuple[str, str, float, float]]:
    """Haversine printed with cosines of the colatitude, which are for the latitude.

    Its minimum over the border is no distance but still zero on the border, and any such g will do.  The reference
    code has the true distance and the printed formula's gradient, which do not belong together.  Where the
    border is a circle of latitude its nearest point has the same longitude, the term is zero, and nothing shows.
    """
    for place, region in (("longitude/latitude box", BOX), ("band between parallels", BAND)):
        X = tmsm.VonMisesFisher().sample(ROWS, region, random_state=seed, mean_direction=BOX_MEAN, concentration=6.0)
        d, away = region.border_distance(X)
        nearest = np.cos(d)[:, None] * X - np.sin(d)[:, None] * away
        variants = {RIGHT: (d, away), MIXED: (d, printed_haversine(X, nearest)[1])}
        if region is BOX:
            variants[MINIMISED] = printed_haversine(X, nearest_as_printed(X, box_outline()))
        for variant, (g, slope) in variants.items():
            theta = linear_fit(tangent_projectors(X), -2.0 * X, g, slope)
            yield place, variant, *concentration_and_error(theta, BOX_MEAN)


def box_outline(n: int = 2000) -> np.ndarray:
    """Points along the border of the box, shape (m, 3)."""
    lon, lat = np.linspace(BOX.west, BOX.east, n // 3), np.linspace(BOX.south, BOX.north, n // 6)
    sides = [(lon, np.full_like(lon, edge)) for edge in (BOX.south, BOX.north)]
    sides += [(np.full_like(lat, edge), lat) for edge in (BOX.west, BOX.east)]
    return np.vstack([tmsm.lonlat_to_xyz(*side) for side in sides])


def nearest_as_printed(X: np.ndarray, border: np.ndarray) -> np.ndarray:
    """The border point of the smallest printed distance for each row."""
    (phi, theta), (phi2, theta2) = (_angles(Z) for Z in (X, border))
    nearest = np.empty_like(X)
    for rows in np.array_split(np.arange(len(X)), max(1, len(X) // 1000)):
        turn = np.sin(0.5 * (theta2 - theta[rows, None])) ** 2  # the square has the period of a whole turn
        u = np.sin(0.5 * (phi2 - phi[rows, None])) ** 2 + np.cos(phi[rows, None]) * np.cos(phi2) * turn
        nearest[rows] = border[np.argmin(u, axis=1)]
    return nearest


def _angles(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Colatitude from the north pole, and longitude."""
    return np.arccos(X[:, 2]), np.arctan2(X[:, 1], X[:, 0])


def printed_haversine(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """2 arcsin √u, u = sin²(Δφ/2) + cos φ cos φ′ sin²(Δθ/2) with φ the colatitude, and its gradient in X."""
    (phi, theta), (phi2, theta2) = _angles(X), _angles(Y)
    half, turn = 0.5 * (phi2 - phi), 0.5 * (np.mod(theta2 - theta + np.pi, 2.0 * np.pi) - np.pi)
    u = np.sin(half) ** 2 + np.cos(phi) * np.cos(phi2) * np.sin(turn) ** 2
    u = np.clip(u, 1e-12, 1.0 - 1e-12)
    du_phi = -np.sin(half) * np.cos(half) - np.sin(phi) * np.cos(phi2) * np.sin(turn) ** 2
    du_theta = -np.cos(phi) * np.cos(phi2) * np.sin(turn) * np.cos(turn)
    south = np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), -np.sin(phi)], axis=-1)
    east = np.stack([-np.sin(theta), np.cos(theta), np.zeros_like(theta)], axis=-1)
    slope = du_phi[:, None] * south + (du_theta / np.sin(phi))[:, None] * east
    return 2.0 * np.arcsin(np.sqrt(u)), slope / np.sqrt(u * (1.0 - u))[:, None]


def nearest_vertex(seed: int) -> Iterator[tuple[str, str, float, float]]:
    """The reference code takes the nearest vertex of the border for its nearest point."""
    border = tmsm.datasets.load_border("usa")
    X = tmsm.VonMisesFisher().sample(
        ROWS, border, random_state=seed, mean_direction=COAST_MEAN, concentration=COAST_CONCENTRATION
    )
    vertices = tmsm.BorderPoints(np.vstack(border.rings), contains=border.contains)
    for variant, region in ((RIGHT, border), (VERTEX, vertices)):
        fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, "geodesic", standard_errors=False).fit(X)
        yield "coast of the United States", variant, *concentration_and_error(fit.natural_params_, COAST_MEAN)


@dataclass(frozen=True)
class Erratum:
    """One error, what is printed, what is right, and the true concentration of its experiment."""

    name: str
    printed: str
    right: str
    truth: float
    run: Callable[[int], Iterator[tuple[str, str, float, float]]]


ERRATA = (
    Erratum("Laplace–Beltrami term", "Δ log p = −2 tr{Pψxᵀ}, which is 0", "−2 κ μ·x", 6.0, laplacian_term),
    Erratum("Kent, ⟨ψ, ψ⟩", "‖Pκμ‖² + 4‖PΣα(γ·x)γ‖²", "‖P(κμ + 2Σα(γ·x)γ)‖²", 10.0, kent_cross_term),
    Erratum("haversine", "cos φ cos φ′ with the colatitude φ", "sin φ sin φ′", 6.0, haversine),
    Erratum("nearest border point", "the nearest vertex", "the nearest point of an arc", 60.0, nearest_vertex),
)


@dataclass(frozen=True)
class Cell:
    """One erratum with one seed."""

    number: int
    seed: int

    @property
    def name(self) -> str:
        return f"errata/{self.number}-seed{self.seed}"

    def compute(self) -> list[dict[str, str]]:
        found = ERRATA[self.number].run(self.seed)
        return [
            {"place": place, "variant": variant, "concentration": repr(float(kappa)), "degrees": repr(float(degrees))}
            for place, variant, kappa, degrees in found
        ]


def run(store: Store, jobs: int, seed: int) -> list[dict[str, object]]:
    """A row for each erratum, place and variant: mean of κ̂ and of the angle to the true mean."""
    cells = [Cell(k, 1000 * seed + s) for k in range(len(ERRATA)) for s in range(SEEDS)]
    found = run_cells(cells, store, jobs, "Errors in print")
    rows = []
    for k, erratum in enumerate(ERRATA):
        values: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for cell in cells:
            if cell.number == k:
                for row in found[cell.name]:
                    pair = float(row["concentration"]), float(row["degrees"])
                    values.setdefault((row["place"], row["variant"]), []).append(pair)
        for (place, variant), pairs in values.items():
            kappa, degrees = np.array(pairs).T
            rows.append(
                {
                    "erratum": erratum.name,
                    "printed": erratum.printed,
                    "right": erratum.right,
                    "place": place,
                    "variant": variant,
                    "stands_in": STANDS_IN[variant],
                    "true_concentration": erratum.truth,
                    "concentration": kappa.mean(),
                    "error_of_mean": kappa.std(ddof=1) / np.sqrt(len(kappa)),
                    "degrees_off": float(np.mean(degrees)),
                    "rows": ROWS,
                    "seeds": SEEDS,
                }
            )
    return rows
