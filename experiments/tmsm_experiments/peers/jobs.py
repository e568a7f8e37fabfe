"""The jobs that other packages can do, too: rows with a known truth, who fits them, and how far off they are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import tmsm
from scenarios import hemisphere, maps, mixtures, united_states
from tmsm_experiments.peers import (
    with_geomstats,
    with_pygmmis,
    with_pyrecest,
    with_scikit_learn,
    with_scipy,
    with_tmsm,
)
from tmsm_experiments.peers.method import Method

FITS, DRAWS, MAPS = "fits", "draws", "maps"


@dataclass(frozen=True)
class Job:
    """Samples by their seed, the methods that take them, and the errors of estimates by name.

    Times are relative to those of the first method of tmsm.
    """

    table: str
    group: str
    title: str
    rows: Callable[[int], Any]
    errors: Callable[[Any, Any], Mapping[str, float]]
    methods: list[Method]
    seeds: int
    rounds: int = 9

    @property
    def name(self) -> str:
        """All words that tell it from others."""
        return f"{self.table}; {self.group}; {self.title}" if self.group else f"{self.table}; {self.title}"


def _degrees(found, wanted):
    """The angle between two vectors."""
    found = np.asarray(found, dtype=float) / np.linalg.norm(found)
    return float(np.degrees(2.0 * np.arcsin(min(1.0, 0.5 * np.linalg.norm(found - wanted)))))


def _cluster_errors(mu, kappa):
    def errors(found, _):
        out = {"centre": _degrees(found["centre"], mu)}
        if "size" in found:
            out["size"] = 100.0 * (float(found["size"]) / kappa - 1.0)
        return out

    return errors


def _cluster_job(group, title, truth, region, n, methods, seeds):
    mu, kappa = np.asarray(truth["mean_direction"], dtype=float), truth["concentration"]

    def rows(seed):
        return tmsm.VonMisesFisher().sample(n, region, random_state=seed, mean_direction=mu, concentration=kappa)

    return Job(FITS, group, f"{title}, n = {n:,}", rows, _cluster_errors(mu, kappa), methods, seeds)


def cut_clusters() -> Iterator[Job]:
    """Von Mises–Fisher rows of which only those inside a region are seen."""
    group = "Cluster cut by a border: centre in degrees, size is κ in %"
    others = [with_scipy.VON_MISES_FISHER, with_pyrecest.VON_MISES_FISHER, with_geomstats.ACCURATE_MEAN]
    for n in (1000, 10_000):
        methods = [*with_tmsm.truncated_cluster(hemisphere.REGION), *others]
        title = "κ = 6, hemisphere with the centre on its border"
        yield _cluster_job(group, title, hemisphere.TRUTH, hemisphere.REGION, n, methods, 300)
    cap = tmsm.Cap([-1.0, 0.0, 0.0], radius=np.pi / 2 - 0.2)
    title = "κ = 6, cap with the centre 11° outside"
    yield _cluster_job(group, title, hemisphere.TRUTH, cap, 3000, [*with_tmsm.truncated_cluster(cap), *others], 300)
    usa = tmsm.datasets.load_border("usa")
    lonlat, kappa, _ = united_states.SETTINGS[1]
    truth = {"mean_direction": tmsm.lonlat_to_xyz(*lonlat), "concentration": kappa}
    title = f"κ = {kappa:g} round {abs(lonlat[0]):g}° W, {lonlat[1]:g}° N, United States"
    yield _cluster_job(group, title, truth, usa, 3000, [*with_tmsm.truncated_cluster(usa), *others], 60)


def whole_clusters() -> Iterator[Job]:
    """The same where nothing is cut off."""
    group = "Cluster on the whole sphere: centre in degrees, size is κ in %"
    methods = [
        with_tmsm.VON_MISES_FISHER,
        with_scipy.VON_MISES_FISHER,
        with_pyrecest.VON_MISES_FISHER,
        with_geomstats.ACCURATE_MEAN,
        with_geomstats.MEAN,
    ]
    for D, kappa in ((3, 10.0), (10, 10.0), (100, 50.0)):
        truth = {"mean_direction": np.ones(D) / np.sqrt(D), "concentration": kappa}
        for n in (1000, 10_000):
            yield _cluster_job(
                group, f"{D} coordinates, κ = {kappa:g}", truth, None, n, methods, 300 if D < 100 else 60
            )


def axes() -> Iterator[Job]:
    """Bingham rows on the whole sphere."""
    group = "Axes on the whole sphere (Bingham): main axis in degrees, size is the range of the exponents in %"
    methods = [with_tmsm.BINGHAM, with_pyrecest.BINGHAM]
    for exponents in ([-20.0, -10.0, 0.0], [-30.0, -20.0, -10.0, 0.0]):
        axis = np.eye(len(exponents))[-1]
        wide = exponents[-1] - exponents[0]

        def rows(seed, exponents=exponents):
            return tmsm.Bingham().sample(1000, random_state=seed, quadratic=np.diag(exponents))

        def errors(found, _, axis=axis, wide=wide):
            turned = found["axis"] * np.sign(found["axis"] @ axis)
            return {"centre": _degrees(turned, axis), "size": 100.0 * (found["size"] / wide - 1.0)}

        yield Job(FITS, group, f"{len(exponents)} coordinates, n = 1,000", rows, errors, methods, 200)


def normals() -> Iterator[Job]:
    """Normal rows above a threshold, in one dimension and in two."""
    group = "Normal rows above a threshold: mean in standard deviations, size is the first standard deviation in %"
    line = tmsm.Box([0.0], [np.inf])
    corner = tmsm.Box([-0.5, -0.5], [np.inf, np.inf])
    for region, mean, covariance, others in (
        (line, [0.5], [[1.0]], [with_scipy.LINE, with_scipy.TRUNCATED_LINE, with_scipy.BY_HAND]),
        (corner, [0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], [with_scipy.NORMAL, with_pygmmis.NORMAL]),
    ):

        def rows(seed, region=region, mean=mean, covariance=covariance):
            model = tmsm.MultivariateNormal()
            return model.sample(1000, region, random_state=seed, mean=mean, covariance=covariance)

        def errors(found, _, mean=mean):
            away = np.asarray(found["centre"], dtype=float) - mean
            return {"centre": float(np.linalg.norm(away)), "size": 100.0 * (float(found["size"]) - 1.0)}

        where = "one dimension" if len(mean) == 1 else "two dimensions, correlation 0.5"
        methods = [*with_tmsm.truncated_normal(region), *others]
        yield Job(FITS, group, f"{where}, n = 1,000", rows, errors, methods, 100 if len(mean) == 1 else 40, 5)


def normal_mixtures() -> Iterator[Job]:
    """Two normals, one of which is cut in half."""
    group = "Two normals, one cut in half: its mean in units of the plane, size is its share in %"
    wanted = np.array(mixtures.NORMAL_TRUTH["mean"])
    share = mixtures.NORMAL_TRUTH["shares"][0]

    def errors(found, _):
        own = mixtures.order_like(np.asarray(found["means"]), wanted)[0]
        away = float(np.linalg.norm(np.asarray(found["means"])[own] - wanted[0]))
        return {"centre": away, "size": 100.0 * (float(found["shares"][own]) / share - 1.0)}

    methods = [with_tmsm.MIXTURE, with_scikit_learn.MIXTURE, with_pygmmis.MIXTURE]
    for n, seeds in ((1000, 20), (10_000, 8)):

        def rows(seed, n=n):
            return mixtures.normal_rows(seed, n)

        yield Job(FITS, group, f"n = {n:,}", rows, errors, methods, seeds, 3)


def density_maps() -> Iterator[Job]:
    """Densities without a family, inside a border."""
    methods = [with_tmsm.SMOOTH_MAP, with_tmsm.KERNEL_MAP, with_scikit_learn.KERNELS]
    for name, where, seeds in (
        ("two bumps 73° apart", "hemisphere", 5),
        ("a bump beyond the coast", "United States", 3),
    ):

        def rows(seed, name=name):
            found = maps.truth(name)
            return found.region, found.rows(3000, seed), found.X

        def errors(estimate, _, name=name):
            found, log_q = maps.truth(name), estimate["log_density"]
            return {
                "divergence": found.divergence(log_q),
                "border": found.coast_error(log_q),
                "integral": float(found.area @ np.exp(log_q)),
            }

        yield Job(MAPS, "", f"{name}, {where}, n = 3,000", rows, errors, methods, seeds, 1)


def draws() -> Iterator[Job]:
    """Random numbers: how long they take, and how far the mean of a statistic is from its expectation."""
    vmf, n = tmsm.VonMisesFisher(), 100_000
    methods = [with_tmsm.DRAW, with_scipy.DRAW, with_geomstats.DRAW, with_pyrecest.DRAW]
    for D, kappa in ((3, 6.0), (10, 10.0), (100, 50.0)):
        mu = np.ones(D) / np.sqrt(D)
        expected = float(vmf.expectation(kappa * mu)[0] @ mu)

        def rows(seed, mu=mu, kappa=kappa):
            return mu, kappa, n, seed

        def errors(X, setting, expected=expected):
            return {"deviation": _standardised(X @ setting[0], expected)}

        title = f"von Mises–Fisher, {D} coordinates, κ = {kappa:g}, {n:,} draws"
        yield Job(DRAWS, "", title, rows, errors, methods, 20)
    exponents = [-20.0, -10.0, 0.0]
    bingham = tmsm.Bingham().on(tmsm.Sphere(2))
    # Moments of squares of the coordinates, from the family's own normalising constant.
    theta = bingham.natural_parameters(quadratic=np.diag(exponents))
    nodes, log_weights = _sphere_nodes()
    p = np.exp(bingham.log_kernel(nodes, theta) + log_weights)
    expected = float(p @ nodes[:, 2] ** 2 / p.sum())

    def settings(seed):
        return exponents, 2000, seed

    def square_errors(X, _):
        return {"deviation": _standardised(np.asarray(X)[:, 2] ** 2, expected)}

    pair = [with_tmsm.DRAW_BINGHAM, with_pyrecest.DRAW_BINGHAM]
    yield Job(
        DRAWS, "", "Bingham, 3 coordinates, exponents −20, −10 and 0, 2,000 draws", settings, square_errors, pair, 20
    )


def _standardised(values, expected):
    return float((values.mean() - expected) / (values.std() / np.sqrt(len(values))))


def _sphere_nodes(n=200):
    """Gauss–Legendre nodes in z and equal steps in longitude, with logarithms of their areas."""
    z, w = np.polynomial.legendre.leggauss(n)
    lon = np.arange(2 * n) * np.pi / n
    height, angle = np.meshgrid(z, lon, indexing="ij")
    across = np.sqrt(1.0 - height**2)
    X = np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=-1).reshape(-1, 3)
    return X, np.log(np.repeat(w * np.pi / n, lon.size))


def jobs() -> list[Job]:
    """All of them, in the order of the page."""
    parts = (cut_clusters, whole_clusters, axes, normals, normal_mixtures, density_maps, draws)
    return [job for part in parts for job in part()]
