"""Pictures: what is drawn is where it should be."""

import matplotlib as mpl
import numpy as np
import pytest

import tmsm
from tmsm.display.plots import DiagnosticsDisplay, FitDisplay
from tmsm.display.plots.diagnostics import histograms
from tmsm.display.plots.fit_display import mass_levels
from tmsm.display.plots.region_display import draw_region
from tmsm.manifolds.sphere_views import Globe, LonLatMap, ProjectedMap

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.contour import ContourSet

COAST = tmsm.datasets.load_border("usa", "110m")
MODEL = tmsm.VonMisesFisher()
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(-85.0, 35.0), "concentration": 80.0}


@pytest.fixture(scope="module")
def X():
    return MODEL.sample(800, COAST, random_state=0, **TRUTH)


@pytest.fixture(scope="module")
def fit(X):
    return tmsm.ScoreMatching(MODEL, COAST).fit(X)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def contours(ax):
    return [collection for collection in ax.collections if isinstance(collection, ContourSet)]


VIEWS = {
    "globe": lambda X: Globe(np.array([0.3, -0.5, 0.7])),
    "map": lambda X: LonLatMap((-120.0, 10.0, -60.0, 55.0)),
    "map over the antimeridian": lambda X: LonLatMap((150.0, -20.0, 210.0, 30.0)),
    "robin": lambda X: ProjectedMap("robin", X),
    "laea": lambda X: ProjectedMap("+proj=laea +lat_0=40 +lon_0=-100", X),
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_points_under_a_grid_are_drawn_there(name, X):
    view = VIEWS[name](X)
    x, y, points = view.grid(41)
    seen = np.isfinite(points).all(axis=-1)
    assert seen.sum() > 400
    np.testing.assert_allclose(np.linalg.norm(points[seen], axis=-1), 1.0)
    flat = view.forward(points[seen])
    # The limb of a globe is neither seen nor unseen.
    good = np.isfinite(flat).all(axis=1)
    assert good.mean() > 0.95
    u, v = np.meshgrid(x, y)
    np.testing.assert_allclose(flat[good], np.column_stack([u[seen], v[seen]])[good], atol=1e-6)


def test_the_far_side_of_a_globe_is_hidden():
    globe = Globe(np.array([1.0, 0.0, 0.0]))
    flat = globe.forward(np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.6, 0.0, 0.8]]))
    np.testing.assert_allclose(flat[[0, 2]], [[0.0, 0.0], [0.0, 0.8]], atol=1e-12)
    assert np.isnan(flat[1]).all()


@pytest.mark.parametrize("view", ["globe", "map", "robin", "+proj=laea +lat_0=40 +lon_0=-95"])
def test_a_fit_in_every_view(view, fit):
    display = fit.plot(view=view, land=True)
    labels = [text.get_text() for text in display.legend_.get_texts()]
    assert labels[:2] == ["rows (800)", "border"]
    assert "ScoreMatching, 95 % region" in labels
    centre = display.view_.forward(fit.params_.mean_direction[None, :])[0]
    drawn = [line.get_xydata()[0] for line in display.ax_.lines if len(line.get_xydata()) == 1]
    assert any(np.allclose(point, centre) for point in drawn)
    display.figure_.canvas.draw()


def test_several_fits_share_a_picture(X, fit):
    axes = plt.subplots()[1]
    display = FitDisplay.from_estimators(
        {"ours": fit, "ordinary": tmsm.NaiveMLE(MODEL).fit(X)}, ax=axes, view="map", density=False
    )
    assert display.ax_ is axes
    labels = [text.get_text() for text in display.legend_.get_texts()]
    assert labels == ["rows (800)", "border", "ours, 95 % region", "ordinary, 95 % region"]


def test_regions_without_curves_and_flat_ones():
    cap = tmsm.Cap(TRUTH["mean_direction"], 0.2) & ~tmsm.Cap(tmsm.lonlat_to_xyz(-85.0, 30.0), 0.05)
    rows = MODEL.sample(500, cap, random_state=1, **TRUTH)
    display = tmsm.ScoreMatching(MODEL, cap).fit(rows).plot()
    display.figure_.canvas.draw()
    assert cap.border_curves is None
    (drawn,) = (contour for contour in contours(display.ax_) if contour.levels.tolist() == [0.0])
    (path,) = drawn.get_paths()
    # The curves are found on a grid: they lie within a small part of its cells, on the border.
    lonlat = path.vertices[np.isfinite(path.vertices).all(axis=1)]
    assert np.abs(cap.border_distance(tmsm.lonlat_to_xyz(*lonlat.T))[0]).max() < 1e-4
    assert len(lonlat) > 1000
    normal, box = tmsm.MultivariateNormal(np.eye(2)), tmsm.Box([-1.0, -1.0], [2.0, 1.0])
    flat = normal.sample(500, box, random_state=0, mean=[0.5, 0.5])
    display = tmsm.ScoreMatching(normal, box).fit(flat).plot()
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x₁", "x₂")
    np.testing.assert_allclose(display.view_.forward(flat[:5]), flat[:5])
    (drawn,) = (contour for contour in contours(display.ax_) if contour.levels.tolist() == [0.0])
    corners = drawn.get_paths()[0].vertices
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [box.lower, box.upper], atol=0.02)


def test_contours_hold_their_share_of_the_mass(fit):
    levels, dense = mass_levels(MODEL, fit.params_, fit.natural_params_)
    assert (MODEL.log_kernel(dense, fit.natural_params_) >= levels[0]).all()
    draws = MODEL.sample(50_000, random_state=5, **fit.params_)
    values = MODEL.log_kernel(draws, fit.natural_params_)
    assert (values > levels[0] + 0.0).mean() == pytest.approx(0.9, abs=0.01)
    assert (values > levels[1] + 0.0).mean() == pytest.approx(0.5, abs=0.01)


def test_many_points_are_thinned_and_it_says_so():
    many = MODEL.sample(50_000, COAST, random_state=2, **TRUTH)
    display = tmsm.ScoreMatching(MODEL, COAST, "saturating").fit(many).plot(density=False)
    assert "rows (16,667 of 50,000)" in [text.get_text() for text in display.legend_.get_texts()]


def test_diagnostics_show_a_wrong_border_and_nothing_when_right(X, fit):
    def worst(fit):
        return [
            float(np.max(np.abs(h.observed - h.expected) / np.maximum(h.error, 2.0))) for h in histograms(fit.result_)
        ]

    # The unit is twice the standard error of a bin; of 60 right ones none is expected at 1.6.
    assert max(worst(fit)) < 1.3
    wider = tmsm.Cap(tmsm.lonlat_to_xyz(-90.0, 40.0), 0.6)
    assert max(worst(tmsm.ScoreMatching(MODEL, wider).fit(X))) > 1.6
    display = fit.plot_diagnostics()
    assert isinstance(display, DiagnosticsDisplay)
    assert [ax.get_xlabel() for ax in display.axes_] == [
        "distance to the border (degrees)",
        "distance to the centre (degrees)",
    ]


def test_a_region_alone():
    # A country on a map, and half of the sphere on a globe that looks at its pole: what is inside is filled.
    for region, inside, outside in (
        (COAST, [-97.0, 39.0], [-97.0, 50.0]),
        (tmsm.Hemisphere([-1.0, 0.0, 0.0]), [0.0, 0.0], [1.01, 0.0]),
    ):
        figure = draw_region(region)
        figure.canvas.draw()
        (ax,) = figure.axes
        (filled,) = contours(ax)
        assert filled.filled
        assert filled.get_paths()[0].contains_point(inside)
        assert not filled.get_paths()[0].contains_point(outside)
        assert [line.get_label() for line in ax.lines].count("border") == 1
    with pytest.raises(ValueError, match="no border on S²"):
        draw_region(tmsm.Box([0.0], [1.0]))


@pytest.mark.parametrize("view", ["globe", "map"])
def test_a_density_finer_than_the_grid_has_no_contours(view, X, fit):
    dot = tmsm.ScoreMatching(tmsm.VonMisesFisher(1e8), COAST, "saturating").fit(X).plot(view=view)
    dot.figure_.canvas.draw()
    assert contours(dot.ax_) == []
    assert len(contours(fit.plot(view=view).ax_)) == 2


def test_what_cannot_be_drawn(fit):
    with pytest.raises(TypeError, match="view must be 'globe', 'map' or a projection"):
        fit.plot(view=3)
    with pytest.raises(ValueError, match="neither 'globe' nor 'map' nor a projection that pyproj knows"):
        fit.plot(view="mercator please")
    with pytest.raises(ValueError, match="no estimate yet"):
        tmsm.ScoreMatching(MODEL, COAST).plot()
    high = tmsm.Hemisphere([1.0, 0.0, 0.0, 0.0])
    truth = {"mean_direction": [0.6, 0.8, 0.0, 0.0], "concentration": 5.0}
    solid = tmsm.ScoreMatching(MODEL, high).fit(MODEL.sample(500, high, random_state=0, **truth))
    with pytest.raises(ValueError, match="There is no picture of a fit on"):
        solid.plot()
    assert len(solid.plot_diagnostics().axes_) == 2
    with pytest.raises(ValueError, match="There is no fit to draw"):
        FitDisplay({})
