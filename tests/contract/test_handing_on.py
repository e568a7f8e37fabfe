"""What a fit is handed on as: data frames, GeoJSON, longitude and latitude, HTML for notebooks and reports."""

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import shapely
from shapely.geometry import shape

import tmsm
from tests.registry import _polygon, unit
from tmsm.cli import main
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, MissingDependencyError
from tmsm.manifolds.frames import GALACTIC
from tmsm.regions.polygon.flattened import flat_polygons

VMF = tmsm.VonMisesFisher()
HEMISPHERE = tmsm.Hemisphere([-1.0, 0.0, 0.0])
DIRECTION = tmsm.lonlat_to_xyz(-100.0, 20.0)


def fitted(direction=DIRECTION, region=HEMISPHERE, n=400, concentration=8.0, model=VMF):
    X = VMF.sample(n, region, random_state=0, mean_direction=direction, concentration=concentration)
    return tmsm.ScoreMatching(model, region).fit(X)


@pytest.fixture(scope="module")
def fit():
    return fitted()


@pytest.fixture(scope="module")
def flat_fit():
    X = np.random.default_rng(0).normal(1.0, [1.0, 2.0, 0.5], (300, 3))
    return tmsm.NaiveMLE(tmsm.MultivariateNormal()).fit(X)


@pytest.fixture(scope="module")
def undetermined():
    fit = fitted(tmsm.lonlat_to_xyz(170.0, 60.0), tmsm.Cap(tmsm.lonlat_to_xyz(170.0, 60.0), 0.3), 40, 1.0)
    assert not fit.determined_
    return fit


# Data frames.


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_data_frame_of_estimates(fit, backend):
    import narwhals

    frame = narwhals.from_native(fit.to_frame(backend))
    assert frame.columns == ["parameter", "index", "estimate", "std_error", "low", "high", "unit"]
    rows = {(row["parameter"], row["index"]): row for row in frame.iter_rows(named=True)}
    assert len(rows) == len(frame) == 8
    low, high = fit.confidence_interval().concentration
    kappa = rows["concentration", ""]
    assert (kappa["estimate"], kappa["std_error"]) == (fit.params_.concentration, fit.std_errors_.concentration)
    assert (kappa["low"], kappa["high"], kappa["unit"]) == (low, high, "")
    spread = rows["concentration", "spread (1σ)"]
    assert spread["unit"] == "degrees"
    lengths = [spread[name] for name in ("low", "estimate", "high")]
    np.testing.assert_allclose(lengths, np.degrees([1 / np.sqrt(k) for k in (high, fit.params_.concentration, low)]))
    assert [rows["mean_direction", axis]["estimate"] for axis in "xyz"] == fit.params_.mean_direction.tolist()
    lon, lat = (rows["mean_direction", name] for name in ("longitude", "latitude"))
    assert (lon["estimate"], lat["estimate"]) == pytest.approx(fit.lonlat_)
    angle = rows["mean_direction", "angle"]
    assert angle["std_error"] == pytest.approx(np.degrees(fit.std_errors_.mean_direction))
    assert angle["unit"] == "degrees"
    # Errors to the east and to the north make up that of the direction, and so do those of x, y and z.
    east = lon["std_error"] * np.cos(np.radians(lat["estimate"]))
    assert np.hypot(east, lat["std_error"]) == pytest.approx(angle["std_error"])
    xyz = np.array([rows["mean_direction", axis]["std_error"] for axis in "xyz"])
    assert np.linalg.norm(xyz) == pytest.approx(fit.std_errors_.mean_direction)


def test_frames_of_arrays_other_levels_and_missing_errors(flat_fit, undetermined):
    frame = flat_fit.to_frame()
    assert frame["index"].tolist() == ["0", "1", "2", "0,0", "0,1", "0,2", "1,1", "1,2", "2,2"]
    assert frame["estimate"].tolist()[:3] == flat_fit.params_.mean.tolist()
    wider = flat_fit.to_frame(level=0.99)
    assert (wider["high"] > frame["high"]).all()
    plain = tmsm.ScoreMatching(VMF, HEMISPHERE, standard_errors=False)
    plain.fit(VMF.sample(100, HEMISPHERE, random_state=0, mean_direction=DIRECTION, concentration=8.0))
    assert plain.to_frame()[["std_error", "low", "high"]].isna().all(axis=None)
    assert plain.to_frame()["std_error"].dtype == np.float64
    lost = undetermined.to_frame().set_index(["parameter", "index"])
    assert np.isnan(lost.loc[("mean_direction", "longitude"), "std_error"])
    assert lost.loc[("mean_direction", "angle"), "high"] == pytest.approx(180.0)


def test_frames_of_directions_elsewhere():
    circle = tmsm.Cap([0.0, 1.0], 1.4)
    X = VMF.sample(200, circle, random_state=0, mean_direction=[0.0, 1.0], concentration=5.0)
    names = tmsm.ScoreMatching(VMF, circle).fit(X).to_frame()["index"].tolist()
    assert names == ["x", "y", "angle", "", "spread (1σ)"]
    round_the_pole = [[0.6, 0.0, 0.8], [-0.6, 0.0, 0.8], [0.0, 0.6, 0.8], [0.0, -0.6, 0.8]]
    pole = tmsm.NaiveMLE(VMF).fit(np.tile(round_the_pole, (20, 1)))
    rows = pole.to_frame().set_index("index")
    assert rows.loc["latitude", "estimate"] == 90.0
    assert np.isnan(rows.loc["longitude", "std_error"])
    assert rows.loc["latitude", "std_error"] > 0.0


def test_frames_that_cannot_be(fit, monkeypatch):
    with pytest.raises(InvalidInputError, match="backend must be 'pandas', 'polars' or 'pyarrow'; got 'excel'"):
        fit.to_frame("excel")
    with pytest.raises(InvalidTypeError, match=r"backend must be .*; got int"):
        fit.to_frame(3)
    with pytest.raises(InvalidInputError, match="level must be"):
        fit.to_frame(level=95)
    monkeypatch.setitem(sys.modules, "modin", None)
    with pytest.raises(MissingDependencyError, match="backend='modin' needs the package modin"):
        fit.to_frame("modin")
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(MissingDependencyError, match="Data frames need narwhals"):
        fit.to_frame()


# Longitude and latitude.


def test_longitude_and_latitude(fit, undetermined, flat_fit, monkeypatch):
    lon, lat = fit.lonlat_
    assert (type(lon), type(lat)) == (float, float)
    assert tmsm.lonlat_to_xyz(lon, lat) == pytest.approx(fit.params_.mean_direction)
    assert lon < 0.0
    monkeypatch.setattr(fit.result_.kept, "frame", GALACTIC, raising=False)
    assert fit.lonlat_ == pytest.approx((lon + 360.0, lat))
    assert fit.to_frame()["index"].tolist()[3:5] == ["galactic longitude", "galactic latitude"]
    assert fit.to_geojson()["features"][0]["geometry"]["coordinates"] == pytest.approx([lon, lat])
    with pytest.raises(InvalidInputError, match="The data do not determine a centre"):
        _ = undetermined.lonlat_
    with pytest.raises(InvalidInputError, match="There are longitudes and latitudes on S², not on Euclidean"):
        _ = flat_fit.lonlat_
    bingham = tmsm.NaiveMLE(tmsm.Bingham()).fit(fit.result_.kept.sample().X)
    with pytest.raises(InvalidInputError, match="This model has no centre"):
        _ = bingham.lonlat_
    with pytest.raises(tmsm.errors.NotFittedError, match="call fit first"):
        _ = tmsm.NaiveMLE(VMF).lonlat_


# GeoJSON.


def check_area(geometry, contains, points):
    """Valid, within the limits, right-handed, and the same area as a region."""
    area = shape(geometry)
    assert area.is_valid, shapely.is_valid_reason(area)
    west, south, east, north = area.bounds
    assert -180.0 <= west <= east <= 180.0
    assert -90.0 <= south <= north <= 90.0
    for polygon in shapely.get_parts([area]):
        assert polygon.exterior.is_ccw
        assert not any(hole.is_ccw for hole in polygon.interiors)
        longest = np.abs(np.diff(np.asarray(polygon.exterior.coords), axis=0)).max()
        assert longest < 10.001
    inside = contains(points)
    assert 0.01 < inside.mean() < 0.99
    np.testing.assert_array_equal(shapely.contains_xy(area, *tmsm.xyz_to_lonlat(points)), inside)


def near(direction, reach, n, seed=1):
    X = direction + reach * np.random.default_rng(seed).standard_normal((n, 3))
    return X / np.linalg.norm(X, axis=1)[:, None]


PLACES = {
    "plain": (20.0, 30.0),
    "antimeridian": (180.0, 10.0),
    "beside the antimeridian": (-179.5, -40.0),
    "north pole": (30.0, 90.0),
    "beside the north pole": (12.0, 89.0),
    "south pole": (0.0, -89.9),
}


@pytest.mark.parametrize("place", PLACES)
def test_geojson_of_a_fit(place):
    direction = tmsm.lonlat_to_xyz(*PLACES[place])
    region = tmsm.Cap(direction, 0.6)
    fit = fitted(direction, region)
    collection = json.loads(json.dumps(fit.to_geojson(), allow_nan=False))
    assert collection["type"] == "FeatureCollection"
    centre, confidence, border = collection["features"]
    assert [one["properties"]["role"] for one in (centre, confidence, border)] == [
        "centre",
        "confidence region",
        "border",
    ]
    assert all(one["type"] == "Feature" for one in collection["features"])
    assert centre["geometry"]["coordinates"] == pytest.approx(fit.lonlat_)
    about = centre["properties"]
    assert about["estimates"]["concentration"] == fit.params_.concentration
    assert about["std_errors"]["concentration"] == fit.std_errors_.concentration
    assert about["std_error_degrees"] == pytest.approx(np.degrees(fit.std_errors_.mean_direction))
    assert about["confidence_region"].startswith("reaches up to")
    found = fit.confidence_region()
    check_area(confidence["geometry"], found.contains, near(found.estimate, found.half_axes[0], 150))
    check_area(border["geometry"], region.contains, near(direction, 0.6, 2000))


def turned(polygon, matrix):
    return tmsm.SphericalPolygon([ring @ np.asarray(matrix, dtype=float).T for ring in polygon.rings])


def through_a_pole():
    corners = [(0.0, 60.0), (50.0, 50.0), (0.0, 90.0), (-120.0, 50.0)]
    return tmsm.SphericalPolygon([[tmsm.lonlat_to_xyz(*corner) for corner in corners]])


BORDERS = {
    "holes and an island": lambda: _polygon,
    "round the antimeridian": lambda: turned(_polygon, np.diag([-1, -1, 1])),
    "round the north pole": lambda: turned(_polygon, [[0, 0, -1], [0, 1, 0], [1, 0, 0]]),
    "round the south pole": lambda: turned(_polygon, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
    "everything else": lambda: ~_polygon,
    "octant": lambda: tmsm.SphericalPolygon([np.eye(3)]),
    "vertex at a pole": through_a_pole,
    "band": lambda: tmsm.LonLatBox(-180, -30, 180, 50),
    "both poles": lambda: ~tmsm.LonLatBox(-180, -30, 180, 50),
    "lune": lambda: tmsm.LonLatBox(10, -90, 100, 90),
    "box across the antimeridian": lambda: tmsm.LonLatBox(150, -40, -120, 20),
    "wide cap": lambda: tmsm.Cap(unit(0.3, 0.2, -1), 2.2),
    "some metres at the antimeridian": lambda: tmsm.Cap(tmsm.lonlat_to_xyz(180.0, 60.0), 1e-6),
    "mask": lambda: tmsm.HealpixMask(2, np.r_[0:9, 12, 20:30], tolerance=1e-4),
}


@pytest.mark.parametrize("name", BORDERS)
def test_borders_in_the_plane(name):
    region = BORDERS[name]()
    polygons = flat_polygons(region.border_curves, region.contains)
    ring = region.border_curves[0]
    size = np.ptp(ring, axis=0).max()
    points = np.vstack([tmsm.Sphere(2).uniform(3000, 0), near(ring[0], min(size, 0.1), 500)])
    # A border along a parallel is made of arcs that leave it by a hair.
    points = points[np.abs(region.signed_distance(points)[0]) > 1e-5 * min(size, 1.0)]
    check_area({"type": "MultiPolygon", "coordinates": polygons}, region.contains, points)
    assert sum(len(ring) for polygon in polygons for ring in polygon) < 3000


def test_geojson_is_read_back():
    fit = fitted(tmsm.lonlat_to_xyz(30.0, 90.0), tmsm.LonLatBox(-180, 40, 180, 90))
    again = tmsm.SphericalPolygon.from_geojson(fit.to_geojson()["features"][2])
    points = tmsm.Sphere(2).uniform(2000, 0)
    np.testing.assert_array_equal(again.contains(points), fit.region.contains(points))


def test_geojson_without_a_place(undetermined, flat_fit, fit):
    centre, border = undetermined.to_geojson()["features"]
    assert centre["geometry"] is None
    assert centre["properties"]["determined"] is False
    assert centre["properties"]["confidence_region"] == "everywhere: no direction is rejected"
    assert border["properties"]["role"] == "border"
    X = fit.result_.kept.sample().X
    plain = tmsm.ScoreMatching(VMF, HEMISPHERE, standard_errors=False).fit(X).to_geojson()
    assert len(plain["features"]) == 2
    assert plain["features"][0]["properties"]["confidence_region"] == "none: standard errors were not computed"
    bingham = tmsm.NaiveMLE(tmsm.Bingham()).fit(X).to_geojson()
    assert [one["geometry"] for one in bingham["features"]] == [None]
    assert bingham["features"][0]["properties"]["confidence_region"] == "none: this model has no centre"
    with pytest.raises(InvalidInputError, match=r"GeoJSON holds places on S², not points of Euclidean\(dim=3\)"):
        flat_fit.to_geojson()
    with pytest.raises(InvalidInputError, match="level must be"):
        fit.to_geojson(95)


def test_geojson_of_an_axis():
    region = tmsm.Cap(unit(1, 1, 1), 1.2)
    X = tmsm.Watson().sample(400, region, random_state=0, axis=unit(1, 1, 1), concentration=8.0)
    fit = tmsm.ScoreMatching(tmsm.Watson(), region).fit(X)
    confidence = fit.to_geojson()["features"][1]
    found = fit.confidence_region("axis")
    check_area(confidence["geometry"], found.contains, near(found.estimate, found.half_axes[0], 100))
    assert "antipode" in fit.to_geojson()["features"][0]["properties"]["confidence_region"]


# Notebooks.


def test_a_notebook_shows_the_estimates_and_a_map(fit):
    before = open_figures()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = fit._repr_html_()
    assert len(text) < 100_000
    assert "<td>mean direction</td>" in text
    assert text.count("data:image/png;base64,iVBOR") == 1
    assert open_figures() == before


def open_figures():
    return sys.modules["matplotlib.pyplot"].get_fignums() if "matplotlib.pyplot" in sys.modules else []


def test_a_notebook_never_fails(fit, flat_fit, undetermined, monkeypatch):
    for one in (flat_fit, undetermined):
        assert "<table>" in one._repr_html_()
    assert "<img" not in flat_fit._repr_html_()  # in three dimensions
    assert tmsm.NaiveMLE(VMF)._repr_html_() == "<pre>NaiveMLE(model=VonMisesFisher(concentration=None))</pre>"
    assert tmsm.NaiveMLE("<b>")._repr_html_() == "<pre>NaiveMLE(model=&#x27;&lt;b&gt;&#x27;)</pre>"
    monkeypatch.setattr("tmsm.display.notebook._LARGEST", 10)
    assert "<img" not in fit._repr_html_()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    text = fit._repr_html_()
    assert "<table>" in text
    assert "<img" not in text


def test_a_notebook_leaves_the_backend_alone():
    code = (
        "import sys, tmsm; R = tmsm.Hemisphere([-1.0, 0, 0]);"
        "X = tmsm.VonMisesFisher().sample(200, R, random_state=0, mean_direction=[0.0, -1, 0], concentration=6.0);"
        "fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), R).fit(X);"
        "print('<img' in fit._repr_html_(), 'matplotlib.pyplot' in sys.modules, 'IPython' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False"]


# Reports, and the command.


def test_a_report_with_the_naive_fit_beside_it(fit, flat_fit, tmp_path):
    fit.report(tmp_path / "report.html", title="Points & <points>")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>Points &amp; &lt;points&gt;" in text
    assert "Ignoring the border" in text
    naive = tmsm.NaiveMLE(VMF).fit(fit.result_.kept.sample().X)
    fit.report(tmp_path / "both.html", beside={"another": naive})
    text = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "Another: " in text
    assert "Ignoring the border" not in text
    assert naive.beside() == {}
    with pytest.raises(InvalidInputError, match="is a folder"):
        fit.report(tmp_path)
    with pytest.raises(InvalidInputError, match="it is for points on S²"):
        flat_fit.report(tmp_path / "flat.html")
    assert not (tmp_path / "flat.html").exists()


def test_a_saved_fit_is_drawn_and_reported_by_the_command(fit, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("warnings.showwarning", None)  # put back afterwards
    monkeypatch.chdir(tmp_path)
    fit.save("fit.json")

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["show", *arguments])
        return end.value.code, *capsys.readouterr()

    table = run("fit.json")[1]
    code, out, errors = run("fit.json", "--report", "fit.html", "--plot", "fit.png")
    assert (code, out) == (0, table)
    assert errors.splitlines() == ["Picture: fit.png", "Report: fit.html"]
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
    assert "Ignoring the border" in (tmp_path / "fit.html").read_text(encoding="utf-8")
    code, out, errors = run("fit.json", "--report", "-")
    assert (code, out.lstrip()[:9].lower()) == (0, "<!doctype")
    assert errors.startswith(table)
    assert run("fit.json", "--plot", "fit.json")[0] == 2
    assert "would overwrite a file that is read" in run("fit.json", "--report", "fit.json")[2]
    printed = run("fit.json", "--json")[1]
    (tmp_path / "printed.json").write_text(printed)
    assert run("printed.json")[:2] == (0, table)
    code, _, errors = run("printed.json", "--plot", "again.png")
    assert code == 2
    assert re.match("tmsm: printed.json holds the numbers of a fit, but not its rows", errors)
