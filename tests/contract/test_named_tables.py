"""Tables in memory with names of columns: pandas, Polars, geopandas, astropy; and the frame that fits keep."""

import re

import numpy as np
import pandas as pd
import pytest

import tmsm
from tmsm.data.named_tables import FramedPoints, framed_points
from tmsm.data.rows import Rows
from tmsm.manifolds.frames import EARTH, GALACTIC, ICRS, PLAIN, change_frame

BOX = tmsm.LonLatBox(-100, 25, -75, 48)
LON, LAT = np.random.default_rng(0).uniform([[-99], [26]], [[-76], [47]], (2, 80))
X = tmsm.lonlat_to_xyz(LON, LAT)
MODEL = tmsm.VonMisesFisher()


def earth():
    return pd.DataFrame({"id": np.arange(80), "Lon": LON, "LATITUDE": LAT})


def geo(**options):
    import geopandas
    import shapely

    return geopandas.GeoDataFrame({"id": range(80)}, geometry=shapely.points(LON, LAT), crs=4326, **options)


def sky(frame="icrs"):
    from astropy.coordinates import SkyCoord

    return SkyCoord(LON, LAT, unit="deg", frame=frame)


def polars():
    import polars as pl

    return pl.DataFrame({"note": ["x"] * 80, "lng": LON, "lat": LAT})


def arrow():
    import pyarrow as pa

    return pa.table({"longitude": LON, "latitude": LAT})


TABLES = {
    "pandas": (earth, EARTH),
    "another index": (lambda: earth().set_index(np.arange(80)[::-1] * 7), EARTH),
    "objects": (lambda: earth().astype(object), EARTH),
    "text": (lambda: earth().astype(str), EARTH),
    "nullable": (lambda: earth().convert_dtypes(), EARTH),
    "float columns of arrow": (lambda: earth().convert_dtypes(dtype_backend="pyarrow"), EARTH),
    "Polars": (polars, EARTH),
    "pyarrow": (arrow, EARTH),
    "ra, dec": (lambda: pd.DataFrame({"RAJ2000": LON % 360.0, "DEJ2000": LAT}), ICRS),
    "l, b": (lambda: pd.DataFrame({"l": LON, "b": LAT, "mag": LAT}), GALACTIC),
    "geopandas": (geo, EARTH),
    "metres": (lambda: geo().to_crs(3857), EARTH),
    "GeoSeries": (lambda: geo().geometry, EARTH),
    "ICRS": (sky, ICRS),
    "galactic": (lambda: sky("galactic"), GALACTIC),
    "FK5": (lambda: sky().transform_to("fk5"), ICRS),
    "a frame of astropy": (lambda: sky().frame, ICRS),
    "points with their frame": (lambda: FramedPoints(X, GALACTIC), GALACTIC),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_are_known(name):
    make, frame = TABLES[name]
    table = make()
    np.testing.assert_allclose(tmsm.table_to_xyz(table), X, atol=1e-9)
    rows = Rows.of(table, BOX)
    for one in (rows, rows.kept(), rows.spread(5), rows.with_groups(None), rows.kept().kept()):
        assert one.frame == frame
    np.testing.assert_allclose(rows.kept().sample().X, X, atol=1e-9)


@pytest.mark.parametrize("name", ["pandas", "Polars", "geopandas", "ICRS"])
def test_everything_takes_them(name):
    make, frame = TABLES[name]
    table = make()

    def check(of_table, of_array):
        np.testing.assert_allclose(of_table, of_array, rtol=1e-7)

    for estimator in (
        lambda: tmsm.ScoreMatching(MODEL, BOX),
        lambda: tmsm.TruncatedMLE(MODEL, BOX),
        lambda: tmsm.NaiveMLE(MODEL),
    ):
        one, other = estimator().fit(table), estimator().fit(X)
        check(one.params_.concentration, other.params_.concentration)
        check(one.score(table), other.score(X))
        assert (one.result_.kept.frame, other.result_.kept.frame) == (frame, PLAIN)
    one, other = tmsm.ScoreMatching(MODEL, BOX).fit(table), tmsm.ScoreMatching(MODEL, BOX).fit(X)
    check(one.bootstrap(table, 3, 0).params.concentration, other.bootstrap(X, 3, 0).params.concentration)
    check(tmsm.stein_test(one, table, random_state=0).p_value, tmsm.stein_test(other, X, random_state=0).p_value)
    streamed = tmsm.ScoreMatching(MODEL, BOX).partial_fit(table[:40]).partial_fit(table[40:]).partial_fit(table[:0])
    other = tmsm.ScoreMatching(MODEL, BOX).partial_fit(X[:40]).partial_fit(X[40:])
    check(streamed.params_.concentration, other.params_.concentration)
    assert streamed.result_.kept.frame == frame
    grouped = tmsm.ScoreMatching(MODEL, BOX).fit(table, groups=np.arange(80) // 2)
    assert grouped.result_.kept.frame == frame


def test_tables_of_points_stay_what_they_are():
    points = pd.DataFrame(X, columns=["x", "y", "z"])
    assert framed_points(points) is None
    for table in (points, points.set_axis([0, 1, 2], axis=1), points.to_numpy(), X.tolist()):
        rows = Rows.of(table, BOX)
        assert rows.frame == PLAIN
        np.testing.assert_array_equal(rows.sample().X, X)
    # On the circle and on S³ nobody asks for longitudes.
    circle = pd.DataFrame({"c": [0.6, 0.8, 0.0], "s": [0.8, 0.6, 1.0]})
    assert tmsm.NaiveMLE(MODEL).fit(circle).params_.mean_direction.shape == (2,)
    flat = pd.DataFrame({"lon": LON, "lat": LAT})
    assert tmsm.NaiveMLE(tmsm.MultivariateNormal()).fit(flat).params_.mean.shape == (2,)
    fit = tmsm.ScoreMatching(tmsm.MultivariateNormal(), tmsm.Box([-100, 25], [-75, 48])).fit(flat)
    assert fit.result_.kept.frame == PLAIN
    assert tmsm.NaiveMLE(MODEL).fit(pd.DataFrame({"lon": LON, "lat": LAT})).result_.kept.frame == EARTH


def test_columns_that_are_named():
    table = pd.DataFrame({"east": LON, "north": LAT, "lon": 0.0, "lat": 0.0})
    np.testing.assert_allclose(tmsm.table_to_xyz(table, columns=("EAST", "north")), X)
    both = pd.DataFrame({"ra": LON, "dec": LAT, "l": 0.0, "b": 0.0})
    assert framed_points(both, ("ra", "dec")).frame == ICRS
    with pytest.raises(ValueError, match="The table has no column 'up' for the latitude; it has 'east', 'north'"):
        tmsm.table_to_xyz(table, columns=("east", "up"))
    with pytest.raises(ValueError, match="columns must be two names, longitude first; got \\['east'\\]"):
        tmsm.table_to_xyz(table, columns=("east",))


def without_a_point():
    table = geo()
    table.loc[3, "geometry"] = None
    return table


def lazy():
    return polars().lazy()


def scattered():
    from astropy.coordinates import SkyCoord

    return SkyCoord([[1, 2]], [[1, 2]], unit="deg")


def blank_sky():
    from astropy.coordinates import SkyCoord

    return SkyCoord([1, np.nan], [1, 2], unit="deg")


def horizon():
    from astropy.coordinates import SkyCoord

    return SkyCoord(az=[1], alt=[1], unit="deg", frame="altaz")


def nulls():
    import polars as pl

    return pl.DataFrame({"lon": [1.0, None, float("nan")], "lat": [1.0, 2.0, 3.0]})


REFUSED = {
    "two unknown columns": (
        lambda: pd.DataFrame({"a": [1.0], "b": [2.0]}),
        "The table has no columns that look like longitude and latitude, ra and dec, or l and b; it has 'a', 'b'. Name "
        "two with table_to_xyz(table, columns=(longitude, latitude)), or pass the three columns of unit vectors alone.",
    ),
    "several frames": (
        lambda: pd.DataFrame({"ra": [1.0], "dec": [2.0], "l": [1.0], "b": [2.0]}),
        "The table has coordinates in several frames, 'ra', 'dec' and 'l', 'b'. Pass the two that the region is in "
        "alone, such as table[['ra', 'dec']].",
    ),
    "several columns": (
        lambda: pd.DataFrame({"lon": [1.0], "lat": [2.0], "lon_deg": [1.0]}),
        "The table has several columns that look like longitude and latitude: 'lon', 'lon_deg', 'lat'.",
    ),
    "one name twice": (
        lambda: pd.DataFrame([[1.0, 2.0, 3.0]], columns=["lon", "lat", "lon"]),
        "The table has several columns of the same name; rename all but one.",
    ),
    "missing": (
        lambda: pd.DataFrame({"lon": [1.0, np.nan, 3.0], "lat": [1, 2, None]}, index=list("abc")),
        "The table has 2 of 3 rows (first: row 1) without coordinates in 'lon', 'lat'. Drop them first: "
        "table.dropna(subset=['lon', 'lat']) in pandas; drop_nulls and drop_nans in Polars.",
    ),
    "nulls of Polars": (nulls, "The table has 2 of 3 rows (first: row 1) without coordinates in 'lon', 'lat'."),
    "text": (
        lambda: pd.DataFrame({"lon": ["1", "east"], "lat": [1, 2]}),
        "The table has 'east' in the column 'lon', row 1, which is no longitude.",
    ),
    "flags": (lambda: pd.DataFrame({"lon": [True], "lat": [1]}), "The table has True in the column 'lon', row 0"),
    "metres": (
        lambda: pd.DataFrame({"lon": [1e6], "lat": [1.0]}),
        "The columns 'lon' and 'lat' of the table: lon must be within ±360 degrees",
    ),
    "lazy": (lazy, "The table is lazy, and its rows are not there yet: pass table.collect()."),
    "no geometry": (without_a_point, "The table has 1 of 80 rows (first: row 3) without a point. Drop them"),
    "no reference": (
        lambda: geo().set_crs(None, allow_override=True),
        "The table of points has no coordinate reference system. If it is in degrees, say so: .set_crs('EPSG:4326').",
    ),
    "a shape of its own": (
        scattered, "The coordinates have shape (1, 2); one direction a row is wanted: .ravel()."
    ),
    "NaN on the sky": (blank_sky, "The coordinates have 1 of 2 rows (first: row 1) with NaN. Drop or repair them."),
    "the horizon": (horizon, "Coordinates in the frame 'altaz' cannot be turned into ICRS"),
    "no rows": (lambda: pd.DataFrame({"lon": [], "lat": []}), "X has no rows."),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_are_refused(name):
    make, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        tmsm.ScoreMatching(MODEL, BOX).fit(make())


@pytest.mark.filterwarnings("ignore:Geometry is in a geographic CRS")
def test_polygons_are_no_points():
    table = geo()
    with pytest.raises(ValueError, match="The table holds Polygon; points are wanted"):
        tmsm.table_to_xyz(table.set_geometry(table.buffer(1.0)))


def test_what_is_no_table():
    for thing in (5, "x", X, [[1.0, 2.0]], None):
        with pytest.raises(TypeError, match="table must have columns with names, as frames of pandas and Polars have"):
            tmsm.table_to_xyz(thing)


def test_frames_are_not_mixed():
    fit = tmsm.ScoreMatching(MODEL, BOX).fit(sky())
    message = "X is in the frame 'galactic', and the fit was made in 'icrs': bring them into one."
    for ask in (
        lambda: fit.score(sky("galactic")),
        lambda: fit.bootstrap(sky("galactic"), 3),
        lambda: tmsm.stein_test(fit, sky("galactic")),
        lambda: tmsm.TruncatedMLE(MODEL, BOX).fit(sky()).score(sky("galactic")),
        lambda: tmsm.NaiveMLE(MODEL).fit(sky()).score(sky("galactic")),
        lambda: tmsm.ScoreMatching(MODEL, BOX).partial_fit(sky()).partial_fit(sky("galactic")),
    ):
        with pytest.raises(ValueError, match=message):
            ask()
    assert fit.score(X) == pytest.approx(fit.score(sky()))  # bare arrays may be anything
    with pytest.raises(ValueError, match="Directions of the Earth are none of the sky"):
        change_frame(X, EARTH, ICRS)
    np.testing.assert_allclose(change_frame(change_frame(X, ICRS, GALACTIC), GALACTIC, ICRS), X, atol=1e-12)


def test_sexagesimal_text_in_a_table():
    table = pd.DataFrame({"ra": ["17 45 40.04", "17h45m40.04s"], "dec": ["-29 00 28.1", "−29d00m28.1s"]})
    found = framed_points(table)
    assert found.frame == ICRS
    lon, lat = ICRS.lonlat(found.X)
    np.testing.assert_allclose(lon, 266.41683333)
    np.testing.assert_allclose(lat, -29.00780556)
