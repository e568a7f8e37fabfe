"""How much of a kernel lies inside a region, against sums that are computed another way, for every width and place."""

import numpy as np
import pytest

import tmsm
from tests.references.test_maps import BORDERS, bell_points, frame_of
from tmsm.data.rows import Rows
from tmsm.maps.cut_mass import inside_masses
from tmsm.maps.folds import Folds
from tmsm.measure.nodes import Grid, build_nodes

AXIS = tmsm.lonlat_to_xyz(20.0, 40.0)
KAPPAS = (0.0, 0.01, 0.5, 2.0, 5.0, 8.3, 30.0, 1e3, 1e6)
LARGE = {
    "box of 300 by 160 degrees": lambda: tmsm.LonLatBox(-150.0, -80.0, 150.0, 80.0),
    "all but a cap at a pole": lambda: tmsm.LonLatBox(-180.0, -60.0, 180.0, 90.0),
    "outside of a triangle": lambda: ~tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([0, 60, 25], [0, 5, 50])]),
    "triangle round an opposite point": lambda: tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([0, 0, 90], [-1e-3, 80, 0])]),
}


def inside_of(region, X, kappa):
    found, exact = inside_masses(region, X, np.full(len(X), kappa), np.random.default_rng(0))
    assert exact
    return found


@pytest.mark.parametrize("radius", [0.05, 0.5, 1.0, 0.5 * np.pi, 1.7, 2.5, 3.1])
def test_a_kernel_cut_by_a_cap_has_its_integral(radius):
    other = np.pi - radius
    d = np.array([0.0, 0.3 * radius, 0.9 * radius, radius - 1e-4, radius, radius + 0.02, other, other + 1e-3, 3.14])
    X = np.cos(d)[:, None] * AXIS + np.sin(d)[:, None] * frame_of(AXIS)[0]
    u = (np.arange(30_000) + 0.5) / 30_000
    for kappa in KAPPAS:
        # 1 − cos of the distances to the centre that divide a kernel into equal parts.
        v = 2.0 * u if kappa == 0.0 else -np.log1p(u * np.expm1(-2.0 * kappa)) / kappa
        # At each of them this share of the circle is nearer to the axis than the radius.
        cosine = np.cos(radius) - (1.0 - v) * np.cos(d)[:, None]
        with np.errstate(divide="ignore"):
            cosine /= np.sqrt(v * (2.0 - v)) * np.sin(d)[:, None]
        expected = np.arccos(np.clip(cosine, -1.0, 1.0)).mean(axis=1) / np.pi
        np.testing.assert_allclose(inside_of(tmsm.Cap(AXIS, radius), X, kappa), expected, atol=5e-5, err_msg=str(kappa))


@pytest.mark.parametrize("name", ["box of degrees", "polygon with hole and island", *LARGE])
def test_kernels_at_corners_and_opposite_to_them_agree_with_even_points(name):
    region = {**BORDERS, **LARGE}[name]()
    corners = np.vstack(region.border_edges(1e-4))
    corners = corners[:: max(len(corners) // 2, 1)][:2]
    sphere = tmsm.Sphere(2)
    aside = sphere.project_tangent(corners, np.tile(1e-5 * frame_of(AXIS)[0], (2, 1)))
    beside = sphere.exponential(corners, aside)
    X = np.vstack([corners, -corners, beside, -beside, sphere.uniform(2, 1)])
    for kappa in (0.01, 2.0, 9.0, 1e5):
        found = inside_of(region, X, kappa)
        expected = [region.contains(bell_points(x, kappa, 20_000)).mean() for x in X]
        # The border is some hundred points of 20,000 long.
        np.testing.assert_allclose(found, expected, atol=1.5e-3, err_msg=str(kappa))


@pytest.mark.parametrize("name", LARGE)
def test_the_uniform_kernel_has_the_share_of_the_area(name):
    region = LARGE[name]()
    area = np.exp(build_nodes(region, Grid(2, 3)).log_weights).sum() / (4.0 * np.pi)
    found = inside_of(region, tmsm.Sphere(2).uniform(20, 0), 0.0)
    np.testing.assert_allclose(found, area, atol=3e-4)
    np.testing.assert_allclose(found, found[0], atol=1e-9)


def test_a_pole_of_a_great_circle_sees_half_of_it():
    region = tmsm.Hemisphere(AXIS)
    X = np.stack([AXIS, -AXIS, frame_of(AXIS)[0]])
    for kappa in (0.5, 3.0, 40.0):
        inside = -np.expm1(-kappa) / -np.expm1(-2.0 * kappa)
        np.testing.assert_allclose(inside_of(region, X, kappa), [inside, 1.0 - inside, 0.5], atol=1e-5)


def _mass(fit, nside=48):
    density = fit.predict(nside=nside).density
    return np.nansum(density) * 4.0 * np.pi / len(density)


@pytest.mark.parametrize("radius", [1.5, 2.0, 2.5])
def test_kernels_are_a_density_in_any_region(radius):
    region = tmsm.Cap(AXIS, radius)
    even = tmsm.Sphere(2).uniform(200, 3)
    few = tmsm.AdaptiveKernel(region).fit(even[region.contains(even)][:15])
    assert _mass(few) == pytest.approx(1.0, abs=5e-3)
    assert few.widths_.max() < 4.0
    bump = {"mean_direction": AXIS, "concentration": 3.0}
    X = tmsm.VonMisesFisher().sample(400, region, random_state=0, **bump)
    fit = tmsm.AdaptiveKernel(region, neighbours=16, width=1.0).fit(X)
    assert _mass(fit) == pytest.approx(1.0, abs=5e-3)
    # Nothing that is held out is likelier than the truth allows.
    truth = tmsm.VonMisesFisher().logpdf(X, region, **bump)
    assert fit.held_out_ < truth.mean() + 0.05


def test_kernels_with_wrong_masses_are_no_map(monkeypatch):
    def wrong(region, X, kappa, rng):
        found, exact = inside_masses(region, X, kappa, rng)
        return np.where(found < 0.9, 0.5 * found, found), exact

    monkeypatch.setattr("tmsm.maps.kernel_fit.inside_masses", wrong)
    region = tmsm.Cap(AXIS, 0.6)
    X = tmsm.Sphere(2).uniform(6000, 0)
    with pytest.raises(tmsm.errors.EstimationError, match=r"An internal error: kernels .* have 1\.\d+ on [\d,]+ nodes"):
        tmsm.AdaptiveKernel(region, neighbours=8, width=1.0).fit(X[region.contains(X)][:200])


def test_what_is_held_out_is_the_score_of_new_rows():
    region = tmsm.Cap(AXIS, 0.6)
    bump = {"mean_direction": AXIS, "concentration": 20.0}
    new = tmsm.VonMisesFisher().sample(4000, region, random_state=99, **bump)
    away = []
    for seed in range(6):
        X = tmsm.VonMisesFisher().sample(40, region, random_state=seed, **bump)
        series, kernels = tmsm.DensityMap(region).fit(X), tmsm.AdaptiveKernel(region).fit(X)
        away.append([kernels.held_out_ - series.held_out_, kernels.score(new) - series.score(new)])
    stated, true = np.transpose(away)
    gap = stated - true
    assert abs(gap.mean()) < 3.0 * gap.std(ddof=1) / np.sqrt(len(gap))


def test_folds_of_kernels_are_fits_without_them():
    region = tmsm.Cap(AXIS, 0.6)
    even = tmsm.Sphere(2).uniform(3000, 0)
    X = even[region.contains(even)][:60]
    fit = tmsm.AdaptiveKernel(region, background=0.1).fit(X)
    labels = Folds.of(Rows.of(X, region, None, "raise"), tmsm.AdaptiveKernel(region)._seed()).labels
    parts = []
    for fold in range(10):
        part = tmsm.AdaptiveKernel(region, background=0.1).fit(X[labels != fold])
        parts.append(part.logpdf(X[labels == fold]))
    # The masses inside the border are those of all rows, but for a factor.
    assert fit.held_out_ == pytest.approx(np.concatenate(parts).mean(), abs=0.01)
