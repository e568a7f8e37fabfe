"""What users meet of maps: scikit-learn's contract, shapes, pixels, files, and questions that are refused."""

import copy
import json
import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from sklearn.utils.validation import check_is_fitted

import tmsm
from tests.registry import unit

CAP = tmsm.Cap([0.0, 0.0, 1.0], 0.6)
INNER = tmsm.Cap([0.0, 0.0, 1.0], 0.3)
BESIDE = tmsm.Cap([1.0, 0.0, 0.0], 0.2)
ALONG = {"mean_direction": unit(0.3, 0.0, 1.0), "concentration": 20.0}
KINDS = {
    "series": lambda **more: tmsm.DensityMap(CAP, degree=5, smoothing=1e-2, **more),
    "kernels": lambda **more: tmsm.AdaptiveKernel(CAP, neighbours=8, width=1.0, **more),
}


@pytest.fixture(scope="module")
def X():
    return tmsm.VonMisesFisher().sample(300, CAP, random_state=0, **ALONG)


@pytest.fixture(scope="module")
def everywhere():
    return tmsm.Sphere(2).uniform(2000, 1)


@pytest.fixture(scope="module")
def fits(X):
    return {name: make().fit(X) for name, make in KINDS.items()}


@pytest.fixture(params=KINDS)
def make(request):
    return KINDS[request.param]


@pytest.fixture(params=KINDS)
def fit(request, fits):
    return fits[request.param]


def test_settings_are_read_set_copied_and_shown(make, X):
    estimator = make()
    again = clone(estimator)
    assert again is not estimator
    assert again.get_params() == estimator.get_params()
    assert again.set_params(random_state=3) is again
    assert again.get_params()["random_state"] == 3
    assert repr(estimator).startswith(f"{type(estimator).__name__}(region=Cap(")
    assert "outside" not in repr(estimator)
    assert "outside='drop'" in repr(make(outside="drop"))
    assert "random_state=3" in repr(again)
    with pytest.raises(ValueError, match=r"has no parameter 'depth'; it has \['region'"):
        estimator.set_params(depth=1)
    estimator.fit(X)
    assert clone(estimator)._result is None


def test_what_was_not_fitted_says_so(make, X):
    estimator, name = make(), type(make()).__name__
    assert not estimator.__sklearn_is_fitted__()
    for ask in (estimator.summary, lambda: estimator.logpdf(X), lambda: estimator.sample(3), lambda: estimator.status_):
        with pytest.raises(tmsm.errors.NotFittedError, match=f"This {name} has no map yet: call fit first."):
            ask()
    estimator.fit(X)
    check_is_fitted(estimator)
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit(np.full((20, 3), np.nan))
    with pytest.raises(tmsm.errors.NotFittedError, match="the last call to fit failed"):
        estimator.logpdf(X)


def test_scores_of_held_out_rows_are_mean_log_densities(make, X):
    scores = cross_val_score(make(), X, cv=KFold(3))
    rest, kept = next(KFold(3).split(X))
    fit = make().fit(X[rest])
    assert scores[0] == pytest.approx(fit.logpdf(X[kept]).mean())
    assert scores[0] == pytest.approx(fit.score(X[kept]))
    # The densities of two rows of which one counts three times.
    weighted = fit.score(X[kept][:2], sample_weight=[3.0, 1.0])
    assert weighted == pytest.approx(fit.logpdf(X[kept][:2]) @ [0.75, 0.25])
    assert scores.mean() > -np.log(2.0 * np.pi * (1.0 - np.cos(0.6)))


def test_a_fit_is_pickled_and_copied(fit, everywhere):
    for again in (pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)):
        np.testing.assert_array_equal(again.logpdf(everywhere), fit.logpdf(everywhere))
        assert again.share(INNER) == fit.share(INNER)
        assert again.share(INNER).std_error == fit.share(INNER).std_error
        np.testing.assert_array_equal(again.sample(5, 0), fit.sample(5, 0))
        assert again.summary() == fit.summary()


def test_shapes_and_nothing_outside(fit, everywhere, X):
    log_p, inside = fit.logpdf(everywhere), CAP.contains(everywhere)
    low, high = fit.interval(everywhere)
    for one in (log_p, low, high):
        assert one.shape == (2000,)
        assert (one[~inside] == -np.inf).all()
        assert np.isfinite(one[inside]).all()
    assert (low[inside] < log_p[inside]).all()
    assert (log_p[inside] < high[inside]).all()
    narrow = fit.interval(everywhere[inside], level=0.5)
    assert (low[inside] < narrow[0]).all()
    assert (narrow[1] < high[inside]).all()
    np.testing.assert_array_equal(fit.predict(everywhere), np.exp(log_p))
    assert fit.sample(7, 0).shape == (7, 3)
    assert fit.sample(0, 0).shape == (0, 3)
    assert CAP.contains(fit.sample(500, 0)).all()
    assert fit.n_samples_ == 300
    assert fit.kept_rows_.shape == (300, 3)
    assert fit.logpdf(np.empty((0, 3))).shape == (0,)


def test_attributes_of_each_kind(fits, X):
    series, kernels = fits["series"], fits["kernels"]
    assert (series.degree_, series.smoothing_) == (5, 1e-2)
    assert 8.0 < series.freedom_ < 36.0
    assert kernels.widths_.shape == (300,)
    assert (kernels.widths_ > 0.0).all()
    assert 0.0 < kernels.background_ < 0.5
    for fit in (series, kernels):
        assert np.isfinite(fit.held_out_)
        assert fit.held_out_ < fit.score(X)
        assert type(fit).__name__ in fit.summary()
        assert fit.status_[:20] in fit.summary()
        assert "<" in fit._repr_html_()
    assert tmsm.AdaptiveKernel(CAP, neighbours=8, width=1.0, background=0.25).fit(X).background_ == 0.25


def test_the_same_seed_is_the_same_map(X, everywhere, fit):
    for make in (lambda: tmsm.DensityMap(CAP, degree=5, random_state=4), lambda: tmsm.AdaptiveKernel(CAP)):
        one, other = make().fit(X[:150]), make().fit(X[:150])
        np.testing.assert_array_equal(one.logpdf(everywhere), other.logpdf(everywhere))
        assert one.held_out_ == other.held_out_
    np.testing.assert_array_equal(fit.sample(20, 1), fit.sample(20, 1))
    assert not np.array_equal(fit.sample(20, 1), fit.sample(20, 2))
    np.testing.assert_array_equal(fit.sample(20, 1), fit.sample(20, np.random.default_rng(1)))


def test_the_order_of_rows_does_not_matter(fit, X, everywhere):
    again = clone(fit).fit(X[np.random.default_rng(0).permutation(300)])
    inside = CAP.contains(everywhere)
    np.testing.assert_allclose(again.logpdf(everywhere[inside]), fit.logpdf(everywhere[inside]), atol=1e-5)


def test_rows_outside_are_refused_or_dropped(make, X):
    with pytest.raises(ValueError, match=r"rows outside the region \(worst: row \d+, .* outside='drop'"):
        make().set_params(region=tmsm.Cap([0.0, 0.0, 1.0], 0.4)).fit(X)
    smaller = tmsm.Cap([0.0, 0.0, 1.0], 0.4)
    fit = make(outside="drop").set_params(region=smaller).fit(X)
    n = int(smaller.contains(X).sum())
    assert fit.n_samples_ == n
    assert dict(fit.facts())["rows"] == f"{n}; {300 - n} outside the region were dropped"
    alone = make().set_params(region=smaller).fit(X[smaller.contains(X)])
    np.testing.assert_allclose(fit.logpdf(X), alone.logpdf(X), atol=1e-6)
    with pytest.raises(ValueError, match="None is left to fit"):
        make(outside="drop").set_params(region=BESIDE).fit(X)


def test_predict_in_healpix_pixels(fit):
    from astropy_healpix import HEALPix

    pixels = fit.predict(nside=16)
    assert pixels.density.shape == pixels.low.shape == pixels.high.shape == (3072,)
    lon, lat = HEALPix(16, "ring").healpix_to_lonlat(np.arange(3072))
    places = tmsm.lonlat_to_xyz(lon.deg, lat.deg)
    expected = fit.predict(places)
    inside = CAP.contains(places)
    assert (np.isfinite(pixels.density) == inside).all()
    np.testing.assert_allclose(pixels.density[inside], expected[inside], rtol=1e-6)
    assert (pixels.low[inside] < pixels.density[inside]).all()
    assert (pixels.density[inside] < pixels.high[inside]).all()
    assert f"{inside.sum()} of them inside" in repr(pixels)
    table = pixels.to_frame()
    assert len(table) == inside.sum()
    assert list(table.columns)[-3:] == ["density", "low", "high"]


def test_predict_in_degrees(fit):
    pixels = fit.predict(step=2.0)
    assert pixels.density.shape == (len(pixels.y), len(pixels.x))
    np.testing.assert_allclose(np.diff(pixels.x), 2.0)
    lon, lat = pixels.places
    inside = np.isfinite(pixels.density)
    places = tmsm.lonlat_to_xyz(lon[inside], lat[inside])
    np.testing.assert_allclose(pixels.density[inside], fit.predict(places), rtol=1e-9)
    # The pixels hold all of the mass, to what a midpoint rule can say of a border that cuts them.
    area = np.radians(2.0) ** 2 * np.cos(np.radians(lat[inside]))
    assert (pixels.density[inside] * area).sum() == pytest.approx(1.0, abs=0.02)
    wide, narrow = fit.predict(step=2.0, level=0.99), fit.predict(step=2.0, level=0.5)
    assert (wide.high[inside] > narrow.high[inside]).all()


def test_predict_shares_in_the_container_of_the_regions(fit):
    share = fit.predict(INNER)
    assert 0.0 < share < 1.0
    assert share.std_error > 0.0
    low, high = share.confidence_interval()
    assert 0.0 < low < share < high < 1.0
    assert fit.predict([INNER, CAP]) == [share, 1.0]
    assert fit.predict({"inner": INNER, "beside": BESIDE}) == {"inner": share, "beside": 0.0}
    assert fit.predict(tmsm.Everywhere(tmsm.Sphere(2))) == pytest.approx(1.0)
    assert fit.share(INNER) + fit.share(CAP & ~INNER) == pytest.approx(1.0, abs=2e-3)
    # What lies outside of the map does not count.
    assert fit.share(INNER | BESIDE) == pytest.approx(share, abs=2e-3)


def test_predict_shares_of_a_geodataframe(fit):
    geopandas = pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    shapes = [shapely.box(0.0, 60.0, 90.0, 85.0), shapely.box(90.0, 60.0, 180.0, 85.0)]
    frame = geopandas.GeoDataFrame({"name": ["a", "b"]}, geometry=shapes, crs="EPSG:4326")
    found = fit.predict(frame)
    assert list(found["name"]) == ["a", "b"]
    assert ((found["low"] < found["share"]) & (found["share"] < found["high"])).all()
    # The peak is at longitude zero.
    assert found["share"][0] > found["share"][1]
    own = tmsm.SphericalPolygon.from_geometry(frame.geometry.iloc[[0]])
    assert found["share"][0] == pytest.approx(float(fit.share(own)))
    assert list(fit.predict(frame.geometry)["share"]) == list(found["share"])
    assert "share" not in frame.columns


def test_files_of_every_ending(fit, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    fits_files = pytest.importorskip("astropy.io.fits")
    names = ["map.png", "map.tif", "map.geojson", "map.fits", "MAP.SVG"]
    options = {"map.tif": {"step": 2.0}, "map.fits": {"nside": 16}, "map.geojson": {"shares": [0.5]}}
    for name in names:
        fit.write(tmp_path / name, **options.get(name, {}))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert (tmp_path / "map.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "<svg" in (tmp_path / "MAP.SVG").read_text()
    with rasterio.open(tmp_path / "map.tif") as file:
        assert file.descriptions == ("density", "low", "high")
        values, pixels = file.read(1), fit.predict(step=2.0)
        row, column = file.index(1.0, 73.0)
        k, j = np.argmin(np.abs(pixels.y - 73.0)), np.argmin(np.abs(pixels.x - 1.0))
        assert values[row, column] * 6371.0088**2 == pytest.approx(pixels.density[k, j], rel=1e-5)
    with fits_files.open(tmp_path / "map.fits") as file:
        assert file[1].header["NSIDE"] == 16
        np.testing.assert_allclose(file[1].data["DENSITY"], fit.predict(nside=16).density, rtol=1e-6)
    assert json.loads((tmp_path / "map.geojson").read_text()) == fit.to_geojson([0.5])


@pytest.mark.parametrize("name", ["map.xyz", "map", "map.parquet"])
def test_an_unknown_ending_is_one_error_and_no_file(fit, tmp_path, name):
    words = rf"'{name}' has an ending that no map is written for: use \.png, .*\.geojson, .*\.fits"
    with pytest.raises(ValueError, match=words):
        fit.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_options_of_other_files_are_refused(fit, tmp_path):
    with pytest.raises(TypeError, match=r"view is an option of pictures, and map\.tif is none"):
        fit.write(tmp_path / "map.tif", view="polar")
    assert list(tmp_path.iterdir()) == []


def test_contours_are_valid_geojson(fit):
    shapely = pytest.importorskip("shapely")
    found = json.loads(json.dumps(fit.to_geojson()))
    assert found["type"] == "FeatureCollection"
    shapes = [shapely.geometry.shape(feature["geometry"]) for feature in found["features"]]
    assert [feature["properties"]["share"] for feature in found["features"]] == [0.9, 0.75, 0.5, 0.25]
    for shape in shapes:
        assert shape.is_valid
        assert shape.geom_type == "MultiPolygon"
        west, south, east, north = shape.bounds
        assert -180.0 <= west < east <= 180.0
        assert -90.0 <= south < north <= 90.0
    # Larger shares lie round smaller ones, but for what the grid of contours rounds.
    for outer, inner in pairwise(shapes):
        assert inner.difference(outer).area < 1e-3 * inner.area


def test_a_report_is_one_page(fits, tmp_path):
    for name, fit in fits.items():
        fit.report(tmp_path / f"{name}.html", title="Two < three", beside=None, marks={"peak": ALONG["mean_direction"]})
        page = (tmp_path / f"{name}.html").read_text()
        assert page.lstrip().lower().startswith("<!doctype html>")
        assert "Two &lt; three" in page
        assert "peak" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels.html", "series.html"]


def data_of(page):
    """What the scripts of a page have to draw."""
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


def test_the_page_is_about_the_map_that_writes_it(fits, tmp_path):
    series, kernels = fits["series"], fits["kernels"]
    for first, other in ((series, kernels), (kernels, series)):
        first.report(tmp_path / "both.html", beside=other, shares=[0.3, 0.95])
        page = (tmp_path / "both.html").read_text()
        name = first.map_name
        assert f"30 % of the mass lies, by the {name}, in an area of <strong>" in page
        assert f"<h2>Where most points are expected, by the {name}</h2>" in page
        assert "<td" in page
        assert "50 %" not in page.split("<script>")[0]
        captions = page.split("<figcaption>")[1:]
        assert captions[0].startswith(f"{name.capitalize()} ({type(first).__name__})")
        assert 'class="chosen"' in captions[0]
        assert 'class="chosen"' not in captions[1]
        why = (
            "it predicts points that were held out better"
            if first.held_out_ >= other.held_out_
            else "because it was asked for"
        )
        assert why in captions[0]
        # Each map has its own band; the slider is that of the smooth map.
        data = data_of(page)
        assert data["smooth"] == [first, other].index(series)
        assert [one["chance"] for one in data["maps"]] == [first is kernels, other is kernels]
        inside = np.array(data["maps"][0]["errors"])
        assert inside.shape == (len(data["seen"]),)
        assert inside.min() > 0


def test_the_page_names_the_frame_of_the_sky(fits, tmp_path):
    fits["series"].report(tmp_path / "sky.html", frame="icrs")
    page = (tmp_path / "sky.html").read_text()
    data = data_of(page)
    assert data["names"] == ["right ascension (ICRS)", "declination (ICRS)"]
    assert data["degrees"] == "sky"
    assert data["mirrored"]
    assert "Directions are right ascension and declination, on the sky (ICRS) as seen from inside." in page
    assert "square degrees" in page


def test_there_is_no_picture_of_a_circle(tmp_path):
    angles = np.random.default_rng(0).vonmises(0.5, 2.0, 200)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    fit = tmsm.DensityMap(tmsm.Everywhere(tmsm.Sphere(1)), degree=4, smoothing=1.0).fit(X)
    words = r"no pictures and pages of maps on Sphere\(dim=1\).*predict gives the density at points"
    for ask in (fit.plot, lambda: fit.write(tmp_path / "x.png"), lambda: fit.report(tmp_path / "x.html")):
        with pytest.raises(ValueError, match=words):
            ask()
    assert list(tmp_path.iterdir()) == []


def test_a_map_of_the_whole_sphere_is_cut_where_maps_are():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    X = tmsm.VonMisesFisher().sample(
        200, tmsm.Everywhere(tmsm.Sphere(2)), random_state=0, mean_direction=[-1.0, 0.0, 0.0], concentration=1.0
    )
    fit = tmsm.DensityMap(tmsm.Everywhere(tmsm.Sphere(2)), degree=3, smoothing=1.0).fit(X)
    for frame, low, high in (("earth", -180.0, 180.0), ("icrs", 360.0, 0.0), ("galactic", 180.0, -180.0)):
        display = fit.plot(frame=frame)
        assert display.ax_.get_xlim() == (low, high)
        assert 5 <= len(display.ax_.get_xticks()) <= 9
        assert ("sky" in display.ax_.get_title()) is (frame != "earth")
        plt.close(display.figure_)


def test_a_band_of_chance_alone_says_so(fits):
    import matplotlib.pyplot as plt

    for name, fit in fits.items():
        display = fit.plot(what="error")
        label = display.figure_.axes[-1].get_ylabel()
        assert "times or divided by" in label
        assert ("chance alone" in label) is (name == "kernels")
        plt.close(display.figure_)


def test_a_picture_is_drawn(fit):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    display = fit.plot()
    assert display.ax_.figure is display.figure_
    plt.close(display.figure_)


def test_maps_of_the_plane():
    region = tmsm.Polygon([[0.0, 0.0], [3.0, 0.4], [2.5, 3.0], [-0.4, 2.0]])
    rows = np.random.default_rng(0).normal([1.0, 1.0], 0.8, (500, 2))
    rows = rows[region.contains(rows)]
    for fit in (tmsm.DensityMap(region, degree=5).fit(rows), tmsm.AdaptiveKernel(region).fit(rows)):
        pixels = fit.predict(step=0.05)
        assert np.nansum(pixels.density) * 0.05**2 == pytest.approx(1.0, abs=0.02)
        assert fit.predict(tmsm.Box([0.5, 0.5], [1.5, 1.5])) > 0.15
        assert len(fit.highest_density_region(0.5).rings) >= 1
        with pytest.raises(ValueError, match=r"HEALPix pixels are of the sphere S², and this map is of Euclidean"):
            fit.predict(nside=4)


def test_maps_of_more_dimensions_have_no_rings():
    region = tmsm.Box([-1.0, -1.0, -1.0], [1.0, 1.0, 1.0])
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (400, 3)) * 0.999
    for fit in (tmsm.DensityMap(region, degree=2).fit(rows), tmsm.AdaptiveKernel(region).fit(rows)):
        assert np.isfinite(fit.logpdf(rows)).all()
        with pytest.raises(ValueError, match=r"Pixels are for the sphere S² and for the plane"):
            fit.predict(step=0.5)


def test_regions_across_the_antimeridian_have_the_same_contours_as_others():
    shapely = pytest.importorskip("shapely")
    rng, side = np.random.default_rng(0), 0.1
    places = side * np.clip(rng.normal(0.0, 0.4, (300, 2)), -0.99, 0.99)

    def areas(middle):
        region = tmsm.LonLatBox(middle - side, -side, middle + side if middle < 180 else side - middle, side)
        X = tmsm.lonlat_to_xyz(middle + places[:, 0], places[:, 1])
        fit = tmsm.DensityMap(region, degree=4, smoothing=1.0).fit(X)
        found = fit.to_geojson([0.25, 0.9])["features"]
        shapes = [shapely.geometry.shape(one["geometry"]) for one in found]
        assert all(one.is_valid for one in shapes)
        assert all(one.bounds[0] >= -180.0 and one.bounds[2] <= 180.0 for one in shapes)
        stated = [fit.highest_density_region(share).area for share in (0.9, 0.25)]
        return [one.area for one in shapes], np.degrees(np.degrees(stated))

    across, stated = areas(180.0)
    np.testing.assert_allclose(across, stated, rtol=0.01)
    np.testing.assert_allclose(across, areas(20.0)[0], rtol=0.01)


def test_a_geotiff_of_one_row_is_in_its_place(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    rng = np.random.default_rng(0)
    X = tmsm.lonlat_to_xyz(rng.uniform(4.0, 24.0, 200), rng.uniform(50.06, 50.44, 200))
    fit = tmsm.DensityMap(tmsm.LonLatBox(4.0, 50.05, 24.0, 50.45), degree=3, smoothing=1.0).fit(X)
    fit.write(tmp_path / "row.tif", step=0.5)
    with rasterio.open(tmp_path / "row.tif") as file:
        assert file.res == (0.5, 0.5)
        assert (file.bounds.bottom, file.bounds.top) == (50.0, 50.5)
        assert file.bounds.left <= 4.0
        assert file.bounds.right >= 24.0
        assert file.height == 1
    fit.write(tmp_path / "fine.tif", step=0.1)
    with rasterio.open(tmp_path / "fine.tif") as file:
        # Multiples of a tenth, without the rounding of sums.
        assert [float(f"{edge:.1f}") for edge in file.bounds[:1]] == list(file.bounds[:1])


def test_files_state_their_units_and_what_they_are_of(fits, tmp_path):
    fits_files = pytest.importorskip("astropy.io.fits")
    fit, radius = fits["series"], 6371.0088
    fit.write(tmp_path / "map.fits", nside=8)
    header = fits_files.getheader(tmp_path / "map.fits", 1)
    assert [header[f"TUNIT{k}"] for k in (1, 2, 3)] == 3 * ["sr-1"]
    assert header["TITLE"] == "density inside cap of 34.3775° round lon 0.000°, lat 90.000°".replace("°", "?")
    # GeoJSON and GeoTIFF mean the Earth, also where the rows do not say so.
    half, found = fit.highest_density_region(0.5), fit.to_geojson([0.5])["features"][0]["properties"]
    assert found["density_unit"] == "probability per square kilometre"
    assert found["density"] == pytest.approx(np.exp(half.log_density) / radius**2)
    assert found["area"].endswith(" km²")
    assert float(found["area"][:-4].replace(",", "")) == pytest.approx(half.area * radius**2, rel=0.01)
    assert half.area_text.endswith(" square degrees")


def test_facts_are_in_degrees_and_count_what_there_is(fits, X):
    facts = dict(fits["series"].facts())
    assert facts["region"] == "cap of 34.3775° round lon 0.000°, lat 90.000°"
    assert "rows that took no part in the fit" in facts["held out"]
    assert dict(fits["kernels"].facts())["held out"].split(", ")[1] == facts["held out"].split(", ")[1]
    one = tmsm.DensityMap(CAP & ~tmsm.Cap([1.0, 0.0, 0.0], 0.1), degree=3, smoothing=1.0)
    assert dict(one.fit(np.vstack([X, X])).facts())["rows"] == "600, at 300 different places"
    assert dict(one.facts())["region"].startswith("(cap of 34.3775° round lon 0.000°, lat 90.000°) & (cap of 174.27")
    assert dict(one.fit(X, groups=np.arange(300) // 3).facts())["rows"] == "300, in 100 different groups"
    assert "neighbours is 298, not 100,000" in tmsm.AdaptiveKernel(CAP, neighbours=100_000, width=1.0).fit(X).status_


def test_rows_of_weight_zero_do_not_count(make, X):
    w = np.r_[np.zeros(100), np.ones(200)]
    fit, alone = make().fit(X, sample_weight=w), make().fit(X[100:])
    assert fit.n_samples_ == alone.n_samples_ == 200
    np.testing.assert_allclose(fit.logpdf(X), alone.logpdf(X), atol=1e-5)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda fit: fit.highest_density_region(0.0), "share must be between 0 and 1; got 0. Say 0.5 for 50 %"),
        (lambda fit: fit.highest_density_region(1.0), "share must be between 0 and 1; got 1"),
        (lambda fit: fit.highest_density_region(50), "share must be between 0 and 1; got 50"),
        (lambda fit: fit.to_geojson([0.5, -0.1]), "share must be between 0 and 1; got -0.1"),
        (lambda fit: fit.share(3), r"share needs a region, such as LonLatBox.*got int"),
        (
            lambda fit: fit.share(tmsm.Box([0.0, 0.0], [1.0, 1.0])),
            r"The region lies on Euclidean\(dim=2\), and the map",
        ),
        (lambda fit: fit.predict(), "predict needs one of where, nside and step; got none"),
        (lambda fit: fit.predict(INNER, nside=4), "predict needs one of where, nside and step; got where, nside"),
        (lambda fit: fit.predict(nside=0), "nside must be at least 1; got 0"),
        (lambda fit: fit.predict(nside=8192), "nside=8192 has 805,306,368 pixels, too many"),
        (lambda fit: fit.predict(step=0.0), "step must be finite and greater than 0; got 0"),
        (lambda fit: fit.predict(step=1e-6), "step=1e-06 makes .* pixels, too many: take a larger one"),
        (lambda fit: fit.predict(step=200.0), "No pixel of step=200 has its centre inside the region: take a smaller"),
        (
            lambda fit: fit.predict(nside=1),
            "None of the 12 pixels of nside=1 has its centre inside the region. Take a la",
        ),
        (lambda fit: fit.write("nowhere/map.tif", step=-1.0), "step must be finite and greater than 0; got -1"),
        (lambda fit: fit.write("nowhere/map.fits", nside=8192), "nside=8192 has 805,306,368 pixels, too many"),
        (
            lambda fit: fit.report("nowhere/map.txt"),
            r"'map\.txt' has an ending that no page is written for: use \.html",
        ),
        (lambda fit: fit.predict([]), r"X must be a table of shape \(n, D\)"),
        (lambda fit: fit.interval([[0.0, 0.0, 1.0]], level=1.2), "level must be between 0 and 1; got 1.2"),
        (lambda fit: fit.sample(-1), "n must be at least 0; got -1"),
        (lambda fit: fit.logpdf([0.0, 0.0, 1.0]), r"For a single point use X.reshape\(1, -1\)"),
        (lambda fit: fit.logpdf([[0.0, 0.0, 2.0]]), "1 of 1 rows off the sphere"),
        (lambda fit: fit.score([[1.0, 0.0, 0.0]]), "1 of 1 rows outside the region"),
    ],
)
def test_bad_questions_are_one_sentence(fit, ask, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ask(fit)
