"""Pictures: what is drawn is where it should be."""

import re

import matplotlib as mpl
import numpy as np
import pytest

import tmsm
from tmsm.display.plots import DiagnosticsDisplay, FitDisplay
from tmsm.display.plots.curves import border_of
from tmsm.display.plots.diagnostics import histograms
from tmsm.display.plots.estimates import mass_levels, rings_of
from tmsm.display.plots.land import land_curves
from tmsm.display.plots.region_display import draw_region
from tmsm.display.plots.style import LAND
from tmsm.manifolds.frames import EARTH, ICRS
from tmsm.manifolds.graticule import graticule_step, scale_bar
from tmsm.manifolds.lonlat import point_at
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


def test_a_region_on_both_sides_of_a_globe_is_shown_whole():
    from astropy_healpix import HEALPix

    grid = HEALPix(4, order="ring")
    north = grid.healpix_to_lonlat(np.arange(grid.npix))[1].to_value("deg")
    figure = draw_region(tmsm.HealpixMask(4, np.flatnonzero(np.abs(north) > 30.0)), "galactic")
    # A globe is as high as it is wide; a map of all of the sky is not.
    low, high = (np.array(figure.axes[0].get_xlim()), np.array(figure.axes[0].get_ylim()))
    assert np.ptp(low) > 1.8 * np.ptp(high)


def test_of_an_axis_the_end_among_the_rows_is_shown():
    region, model = tmsm.LonLatBox(-100, 10, -60, 35), tmsm.Watson()
    axis = tmsm.lonlat_to_xyz(-80.0, 23.0)
    X = model.sample(900, region, random_state=0, axis=axis, concentration=15.0)
    X *= np.sign(X @ axis)[:, None]
    fit = tmsm.ScoreMatching(model, region).fit(X)
    assert fit.params_.axis @ axis < 0.0  # as an axis is written, its largest entry is positive
    assert fit.result_.centre_point @ axis > 0.9
    assert fit.lonlat_ == pytest.approx((-80.0, 23.0), abs=3.0)
    assert f"({fit.lonlat_[0]:.3f}°" in fit.summary()
    near = max(histograms(fit.result_), key=lambda panel: panel.title).edges[-1]
    assert near < 45.0  # degrees
    assert fit.to_geojson()["features"][0]["geometry"]["coordinates"] == pytest.approx([-80.0, 23.0], abs=3.0)
    ring = next(np.vstack(rings) for rings in [rings_of(fit.result_, 0.95)])
    assert (ring @ axis > 0.9).all()


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
    (drawn,) = (line for line in display.ax_.get_lines() if line.get_label() == "border")
    corners = drawn.get_xydata()
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [box.lower, box.upper], rtol=1e-12)


def test_contours_hold_their_share_of_the_mass(fit):
    found = mass_levels(fit.result_)
    levels, dense = found.levels, found.dense
    assert (MODEL.log_kernel(dense, fit.natural_params_) >= levels[0]).all()
    draws = MODEL.sample(50_000, random_state=5, **fit.params_)
    values = MODEL.log_kernel(draws, fit.natural_params_)
    assert (values > levels[0] + 0.0).mean() == pytest.approx(0.9, abs=0.01)
    assert (values > levels[1] + 0.0).mean() == pytest.approx(0.5, abs=0.01)


def test_many_points_are_thinned_and_it_says_so():
    many = MODEL.sample(70_000, COAST, random_state=2, **TRUTH)
    for n, shown in ((50_000, "16,667"), (70_000, "17,500")):  # of 70,000 rows a fit keeps every second one
        display = tmsm.ScoreMatching(MODEL, COAST, "saturating").fit(many[:n]).plot(density=False)
        assert f"rows ({shown} of {n:,})" in [text.get_text() for text in display.legend_.get_texts()]


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


PROJECTIONS = [
    "robin", "+proj=moll +lon_0=100", "eqearth", "+proj=ortho +lat_0=40 +lon_0=20", "+proj=laea +lat_0=90", "laea",
    "+proj=aeqd +lat_0=50 +lon_0=10", "+proj=stere +lat_0=40 +lon_0=170", "+proj=lcc +lat_1=30 +lat_2=50 +lon_0=-100",
    "merc", "+proj=cea +lon_0=-77", "sinu", "igh", "goode", "tmerc", "+proj=utm +zone=32", "lcc",
]  # fmt: skip
EVERYWHERE = point_at(np.linspace(-180.0, 180.0, 2000), np.degrees(np.arcsin(np.sin(np.arange(2000.0)))))


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_lines_of_a_projection_end_at_its_edge(projection):
    """No line straight across the picture, and none that stops before the edge."""
    view = ProjectedMap(projection, EVERYWHERE)
    left, bottom, right, top = view.window
    size = np.hypot(right - left, top - bottom)
    turn = np.linspace(-180.0, 180.0, 73)
    curves = [point_at(turn + 0.3, lat) for lat in (-61.0, -20.0, 3.0, 41.0)]
    curves += [point_at(lon, np.linspace(-90.0, 90.0, 37)) for lon in range(-179, 180, 30)]
    flat = view.flat_lines(curves)
    steps = np.linalg.norm(np.diff(flat, axis=0), axis=1)
    assert np.nanmax(steps) < 0.021 * size
    # Every place of the curves that the projection shows in the window is reached: within half a degree and less.
    wanted = np.vstack([point_at(turn, lat) for lat in (-61.0, -20.0, 3.0, 41.0)])
    places = view.forward(np.vstack([wanted, *curves]))
    with np.errstate(invalid="ignore"):
        inside = ((places >= [left, bottom]) & (places <= [right, top])).all(axis=1)
    drawn = flat[np.isfinite(flat).all(axis=1)]
    away = [np.linalg.norm(drawn - place, axis=1).min() for place in places[inside]]
    assert inside.sum() > 100
    assert max(away) < 0.021 * size


def test_a_line_over_the_edge_runs_right_up_to_it_on_both_sides():
    view = ProjectedMap("+proj=robin +lon_0=0", EVERYWHERE)
    flat = view.flat_lines([tmsm.lonlat_to_xyz(np.array([150.0, 179.0, -179.0, -150.0]), np.full(4, 10.0))])
    assert np.isnan(flat[1:-2]).any(axis=1).sum() == 1
    edge = view.forward(tmsm.lonlat_to_xyz([179.9999999], [10.0]))[0, 0]
    known = flat[np.isfinite(flat).all(axis=1)]
    np.testing.assert_allclose([known[:, 0].min(), known[:, 0].max()], [-edge, edge], rtol=1e-4)
    # On a globe lines end at the limb.
    limb = Globe(np.array([1.0, 0.0, 0.0])).flat_lines([tmsm.lonlat_to_xyz(np.array([0.0, 80.0, 160.0]), np.zeros(3))])
    assert np.nanmax(limb[:, 0]) == pytest.approx(1.0, abs=1e-8)
    # On a map that ends elsewhere they are whole.
    whole = LonLatMap((150.0, -20.0, 210.0, 30.0)).flat_lines(
        [tmsm.lonlat_to_xyz(np.array([170.0, -170.0]), np.zeros(2))]
    )
    assert np.nanmax(np.diff(whole[:-1, 0])) < 2.0


@pytest.mark.parametrize("projection", ["+proj=robin +lon_0=0", "+proj=igh +lon_0=0", "+proj=ortho +lat_0=30 +lon_0=0"])
def test_the_outline_of_a_projection(projection):
    view = ProjectedMap(projection, EVERYWHERE)
    outline = view.outline()
    outline = outline[np.isfinite(outline).all(axis=1)]
    if "ortho" in projection:
        np.testing.assert_allclose(np.linalg.norm(outline, axis=1), 1.0, atol=1e-5)
    elif "robin" in projection:
        side = outline[np.abs(outline[:, 1]) < 1.2]
        lat = np.array(view._proj(*side.T, inverse=True)[1])
        edge = view.forward(tmsm.lonlat_to_xyz(np.full(len(lat), 180.0 - 1e-7), lat))
        np.testing.assert_allclose(np.abs(side[:, 0]), edge[:, 0], atol=1e-3)
    else:  # a point of the gap between two lobes, and of the lobes beside it
        assert np.isnan(view._under(np.array([[-0.7, 1.3]]))).all()
        assert len(outline) > 500
    x, y, X = view.grid(60)
    seen = np.isfinite(X).all(axis=-1)
    u, v = np.meshgrid(x, y)
    np.testing.assert_allclose(view.forward(X[seen]), np.column_stack([u[seen], v[seen]]), atol=1e-5)
    assert not seen[0].any()
    assert not seen[:, 0].any()


def test_what_a_projection_does_not_reach():
    north = tmsm.Cap([0.0, 0.0, 1.0], 0.3)
    rows = MODEL.sample(50, north, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=50.0)
    with pytest.raises(ValueError, match="shows none of these rows"):
        ProjectedMap("+proj=ortho +lat_0=-90", rows)


SKY = tmsm.Cap(tmsm.lonlat_to_xyz(358.0, 20.0), 0.1)


@pytest.fixture(scope="module")
def sky_fit():
    truth = {"mean_direction": tmsm.lonlat_to_xyz(359.0, 23.0), "concentration": 600.0}
    return tmsm.ScoreMatching(MODEL, SKY).fit(MODEL.sample(500, SKY, random_state=0, **truth))


@pytest.mark.parametrize("view", ["map", "globe", "robin"])
def test_right_ascension_grows_to_the_left(view, sky_fit):
    east = tmsm.lonlat_to_xyz(np.array([355.0, 1.0]), np.full(2, 20.0))
    display = sky_fit.plot(view=view, frame="icrs")
    pixels = display.ax_.transData.transform(display.view_.forward(east))
    assert pixels[1, 0] < pixels[0, 0]
    other = sky_fit.plot(view=view, frame="earth")
    pixels = other.ax_.transData.transform(other.view_.forward(east))
    assert pixels[1, 0] > pixels[0, 0]
    display.figure_.canvas.draw()
    texts = [text.get_text() for text in [*display.ax_.texts, *display.ax_.get_xticklabels()]]
    assert {"356°", "0°"} <= set(texts)
    assert any(text.startswith("2°") for text in texts)  # the scale bar
    if view == "map":
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("right ascension", "declination")


def test_the_frame_decides_on_units_and_land(fit):
    def land_and_texts(**options):
        display = fit.plot(view="map", **options)
        colours = [line.get_color() for line in display.ax_.lines]
        return LAND in colours, " ".join(text.get_text() for text in display.ax_.texts)

    assert land_and_texts() == (False, "10° at 35°")
    assert land_and_texts(frame="earth") == (True, "1,000 km at 35°N")
    assert not land_and_texts(frame="earth", land=False)[0]
    assert not land_and_texts(frame="galactic")[0]
    with pytest.raises(ValueError, match="frame='mars' is not an option"):
        fit.plot(frame="mars")
    titles = [panel.title for panel in histograms(fit.result_.in_frame(EARTH))]
    assert titles == ["distance to the border (km)", "distance to the centre (km)"]


def test_marks(fit):
    truth, hidden = TRUTH["mean_direction"], tmsm.lonlat_to_xyz(np.array([-75.0, -70.0]), np.array([30.0, 33.0]))
    far = tmsm.lonlat_to_xyz(-40.0, 20.0)
    display = fit.plot(view="map", marks={"truth": truth, "far": far, "hidden": hidden})
    labels = [text.get_text() for text in display.legend_.get_texts()]
    assert labels[-3:] == ["truth", "far", "hidden (2)"]
    stars = {line.get_label(): line.get_xydata()[0] for line in display.ax_.lines if line.get_marker() == "*"}
    np.testing.assert_allclose(stars["truth"], tmsm.xyz_to_lonlat(truth))
    # There is room for single marks.
    assert display.ax_.get_xlim()[1] > -40.0
    assert fit.plot(view="map").ax_.get_xlim()[1] < -50.0
    (rings,) = (c for c in display.ax_.collections if c.get_label() == "hidden (2)")
    np.testing.assert_allclose(rings.get_offsets(), np.column_stack(tmsm.xyz_to_lonlat(hidden)))
    behind = fit.plot(view="globe", marks={"behind": -truth})
    assert "behind (on the other side)" in [text.get_text() for text in behind.legend_.get_texts()]
    normal, box = tmsm.MultivariateNormal(np.eye(2)), tmsm.Box([-1.0, -1.0], [2.0, 1.0])
    flat = tmsm.ScoreMatching(normal, box).fit(normal.sample(300, box, random_state=0, mean=[0.5, 0.5]))
    display = flat.plot(marks={"truth": [0.5, 3.5]})
    assert display.ax_.get_ylim()[1] > 3.5


@pytest.mark.parametrize(
    ("marks", "error", "text"),
    [
        ([1.0, 0.0, 0.0], TypeError, "marks must be a dictionary from labels to points"),
        ({3: [1.0, 0.0, 0.0]}, TypeError, "The label of a mark must be text; got 3"),
        ({"truth": [1.2, 0.0, 0.0]}, ValueError, r"The mark 'truth' is not on the sphere: its norm is 1\.2\."),
        ({"truth": [10.0, 50.0]}, ValueError, r"got shape \(2,\)\. Use lonlat_to_xyz for degrees"),
        ({"truth": [[[1.0, 0.0, 0.0]]]}, ValueError, r"must be one point of shape \(3,\) or several of shape \(n, 3\)"),
        ({"truth": []}, ValueError, "The mark 'truth' has no points"),
        ({"truth": [np.nan, 0.0, 0.0]}, ValueError, "The mark 'truth' has NaN or infinite entries"),
        ({"truth": "here"}, TypeError, "The mark 'truth' must hold real numbers"),
        ({"some": [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]}, ValueError, "The mark 'some' has 1 of 2 rows"),
    ],
)
def test_marks_that_are_none(marks, error, text, fit):
    with pytest.raises(error, match=text):
        fit.plot(marks=marks)


@pytest.mark.parametrize(
    ("region", "kappa"),
    [
        (tmsm.LonLatBox(9.0, 45.5, 12.0, 48.0), 3e3),
        (tmsm.LonLatBox(11.45, 48.05, 11.72, 48.23), 1.5e6),
        (tmsm.Cap([0.0, 0.0, 1.0], 0.15), 200.0),
        (tmsm.LonLatBox(176.0, -20.0, -178.0, -15.0), 2500.0),
        (tmsm.Cap([0.0, 0.0, 1.0], 0.15) & tmsm.LonLatBox(-180, 83, 180, 89), 200.0),
    ],
)
def test_the_whole_border_is_in_the_picture_and_fills_it(region, kappa):
    curves = region.border_curves
    middle = np.array([0.0, 0.1, 1.0]) if curves is None else np.mean(np.vstack(curves), axis=0)
    middle /= np.linalg.norm(middle)
    rows = MODEL.sample(300, region, random_state=0, mean_direction=middle, concentration=kappa)
    display = tmsm.ScoreMatching(MODEL, region, "saturating").fit(rows).plot(frame="earth")
    left, bottom, right, top = display.view_.window
    border = display.view_.forward(np.vstack(border_of(region, rows)))
    assert (border > [left, bottom]).all()
    assert (border < [right, top]).all()
    share = np.ptp(border, axis=0) / [right - left, top - bottom]
    assert share.max() > 0.75
    texts = [text.get_text() for text in display.ax_.texts]
    assert any(re.fullmatch(r"[125]0* km.*", text) for text in texts)


def test_a_border_far_beyond_the_rows_says_so():
    region = tmsm.Cap(tmsm.lonlat_to_xyz(10.0, 45.0), 0.5)
    rows = MODEL.sample(300, region, random_state=0, mean_direction=region.center, concentration=2e5)
    display = tmsm.ScoreMatching(MODEL, region, "saturating").fit(rows).plot()
    assert "border (beyond the picture)" in [text.get_text() for text in display.legend_.get_texts()]


def test_steps_and_bars_are_round():
    assert [graticule_step(width) for width in (180.0, 60.0, 14.0, 3.0, 0.3)] == [30.0, 10.0, 2.0, 0.5, 0.05]
    bars = [scale_bar(EARTH, width).text for width in (1.0, 0.01, 1e-4, 1e-6)]
    assert bars == ["1,000 km", "10 km", "100 m", "1 m"]
    assert [scale_bar(ICRS, np.radians(4.0 * w)).text for w in (21.0, 2.5, 0.4, 0.005, 1e-4)] == [
        "20°", "2°", "20′", "10″", "0.2″"]  # fmt: skip


def test_a_scale_bar_is_as_long_as_it_says():
    for view in (
        LonLatMap((9.0, 45.0, 12.0, 47.0), EARTH),
        ProjectedMap("+proj=laea +lat_0=46 +lon_0=10", COAST_OF_ALPS, EARTH),
    ):
        ax = plt.subplots()[1]
        view.prepare(ax)
        (bar,) = (line for line in ax.lines if line.get_color() == "0.25")
        left, bottom, _, top = view.window
        start, end = left + np.ptp(bar.get_xdata()), left
        X = np.array([view.grid(3)[2][1, 1]])
        here = view.forward(X)[0]
        _, _, grid = view.grid(201)
        row = grid[100]  # along the middle of the picture
        along = 6371.0088 * np.concatenate([[0.0], np.cumsum(tmsm.Sphere(2).geodesic_distance(row[1:], row[:-1]))])
        x = np.linspace(view.window[0], view.window[2], 201)
        said = float(re.match(r"[\d,]+", ax.texts[-1].get_text())[0].replace(",", ""))
        assert np.interp(start, x, along) - np.interp(end, x, along) == pytest.approx(said, rel=0.02)
        assert here[1] == pytest.approx(0.5 * (bottom + top), rel=1e-6)


COAST_OF_ALPS = tmsm.lonlat_to_xyz(np.array([9.0, 12.0]), np.array([45.0, 47.0]))


def test_coastlines_suit_the_window():
    nice = tmsm.lonlat_to_xyz(7.3, 43.7)
    wide, fine, none = (land_curves(nice, np.radians(radius)) for radius in (60.0, 5.0, 0.5))
    assert none == []
    assert land_curves(nice, np.radians(0.5), always=True) != []
    # Nothing farther away than a neighbourhood, and more of it than of the coarse one.
    assert np.min(np.vstack(fine) @ nice) > np.cos(np.radians(20.0))
    near = np.vstack(wide) @ nice > np.cos(np.radians(5.0))
    assert (np.vstack(fine) @ nice > np.cos(np.radians(5.0))).sum() > 3 * near.sum()


def test_long_labels_and_many_fits_have_a_legend_inside_the_figure(X, fit):
    fits = {f"a label that is longer than most, number {k} of several, and goes on": fit for k in range(4)}
    display = FitDisplay.from_estimators({**fits, "x" * 130: fit}, frame="earth")
    display.figure_.canvas.draw()
    figure, legend = display.figure_.bbox, display.legend_.get_window_extent()
    assert figure.x0 <= legend.x0
    assert legend.x1 <= figure.x1
    drawn = display.ax_.get_tightbbox()
    assert legend.y1 <= drawn.y0 + 2.0
    assert drawn.y1 <= figure.y1
    assert figure.x0 <= drawn.x0
