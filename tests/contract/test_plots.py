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

COAST = tmsm.datasets.load_border("usa", "110m")
MODEL = tmsm.VonMisesFisher()
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(-85.0, 35.0), "concentration": 80.0}
X = MODEL.sample(800, COAST, random_state=0, **TRUTH)
FIT = tmsm.ScoreMatching(MODEL, COAST).fit(X)
NAIVE = tmsm.NaiveMLE(MODEL).fit(X)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


VIEWS = {
    "globe": Globe(np.array([0.3, -0.5, 0.7])),
    "map": LonLatMap((-120.0, 10.0, -60.0, 55.0)),
    "map over the antimeridian": LonLatMap((150.0, -20.0, 210.0, 30.0)),
    "robin": ProjectedMap("robin", X),
    "laea": ProjectedMap("+proj=laea +lat_0=40 +lon_0=-100", X),
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_points_under_a_grid_are_drawn_there(name):
    x, y, points = VIEWS[name].grid(41)
    seen = np.isfinite(points).all(axis=-1)
    assert seen.sum() > 400
    np.testing.assert_allclose(np.linalg.norm(points[seen], axis=-1), 1.0)
    flat = VIEWS[name].forward(points[seen])
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
def test_a_fit_in_every_view(view):
    display = FIT.plot(view=view, land=True)
    labels = [text.get_text() for text in display.legend_.get_texts()]
    assert labels[:2] == ["rows (800)", "border"]
    assert "ScoreMatching, 95 % region" in labels
    centre = display.view_.forward(FIT.params_.mean_direction[None, :])[0]
    drawn = [line.get_xydata()[0] for line in display.ax_.lines if len(line.get_xydata()) == 1]
    assert any(np.allclose(point, centre) for point in drawn)
    display.figure_.canvas.draw()


def test_several_fits_share_a_picture():
    axes = plt.subplots()[1]
    display = FitDisplay.from_estimators({"ours": FIT, "ordinary": NAIVE}, ax=axes, view="map", density=False)
    assert display.ax_ is axes
    labels = [text.get_text() for text in display.legend_.get_texts()]
    assert labels == ["rows (800)", "border", "ours, 95 % region", "ordinary, 95 % region"]


def test_regions_without_curves_and_flat_ones():
    cap = tmsm.Cap(TRUTH["mean_direction"], 0.2) & ~tmsm.Cap(tmsm.lonlat_to_xyz(-85.0, 30.0), 0.05)
    rows = MODEL.sample(500, cap, random_state=1, **TRUTH)
    tmsm.ScoreMatching(MODEL, cap).fit(rows).plot().figure_.canvas.draw()
    normal, box = tmsm.MultivariateNormal(np.eye(2)), tmsm.Box([-1.0, -1.0], [2.0, 1.0])
    flat = normal.sample(500, box, random_state=0, mean=[0.5, 0.5])
    display = tmsm.ScoreMatching(normal, box).fit(flat).plot()
    assert display.ax_.get_xlabel() == "x₁"


def test_contours_hold_their_share_of_the_mass():
    levels, dense = mass_levels(MODEL, FIT.params_, FIT.natural_params_)
    assert (MODEL.log_kernel(dense, FIT.natural_params_) >= levels[0]).all()
    draws = MODEL.sample(50_000, random_state=5, **FIT.params_)
    values = MODEL.log_kernel(draws, FIT.natural_params_)
    assert (values > levels[0] + 0.0).mean() == pytest.approx(0.9, abs=0.01)
    assert (values > levels[1] + 0.0).mean() == pytest.approx(0.5, abs=0.01)


def test_many_points_are_thinned_and_it_says_so():
    many = MODEL.sample(50_000, COAST, random_state=2, **TRUTH)
    display = tmsm.ScoreMatching(MODEL, COAST, "saturating").fit(many).plot(density=False)
    assert "rows (16,667 of 50,000)" in [text.get_text() for text in display.legend_.get_texts()]


def test_diagnostics_show_a_wrong_border_and_nothing_when_right():
    def worst(fit):
        return [
            float(np.max(np.abs(h.observed - h.expected) / np.maximum(h.error, 2.0))) for h in histograms(fit.result_)
        ]

    # The unit is twice the standard error of a bin; of 60 right ones none is expected at 1.6.
    assert max(worst(FIT)) < 1.3
    wider = tmsm.Cap(tmsm.lonlat_to_xyz(-90.0, 40.0), 0.6)
    assert max(worst(tmsm.ScoreMatching(MODEL, wider).fit(X))) > 1.6
    display = FIT.plot_diagnostics()
    assert isinstance(display, DiagnosticsDisplay)
    assert [ax.get_xlabel() for ax in display.axes_] == [
        "distance to the border (degrees)",
        "distance to the centre (degrees)",
    ]


def test_a_region_alone():
    draw_region(COAST).canvas.draw()
    draw_region(tmsm.Hemisphere([-1.0, 0.0, 0.0])).canvas.draw()
    with pytest.raises(ValueError, match="no border on S²"):
        draw_region(tmsm.Box([0.0], [1.0]))


def test_a_density_beside_the_picture_leaves_no_trace():
    far = tmsm.ScoreMatching(tmsm.VonMisesFisher(1e6), COAST, "saturating").fit(X)  # a dot of a density
    far.plot(view="globe").figure_.canvas.draw()


def test_what_cannot_be_drawn():
    with pytest.raises(TypeError, match="view must be 'globe', 'map' or a projection"):
        FIT.plot(view=3)
    with pytest.raises(ValueError, match="neither 'globe' nor 'map' nor a projection that pyproj knows"):
        FIT.plot(view="mercator please")
    with pytest.raises(ValueError, match="no estimate yet"):
        tmsm.ScoreMatching(MODEL, COAST).plot()
    high = tmsm.Hemisphere([1.0, 0.0, 0.0, 0.0])
    truth = {"mean_direction": [0.6, 0.8, 0.0, 0.0], "concentration": 5.0}
    fit = tmsm.ScoreMatching(MODEL, high).fit(MODEL.sample(500, high, random_state=0, **truth))
    with pytest.raises(ValueError, match="There is no picture of a fit on"):
        fit.plot()
    assert len(fit.plot_diagnostics().axes_) == 2
    with pytest.raises(ValueError, match="There is no fit to draw"):
        FitDisplay({})
