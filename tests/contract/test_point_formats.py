"""Files of points as agencies and catalogues write them, on the Earth and on the sky."""

import gzip
import json

import numpy as np
import pytest

import tmsm
from tmsm.cli import main
from tmsm.data import point_tables
from tmsm.data.point_files import read_points
from tmsm.foundation.angles import parse_angle

EVENTS = """#EventID | Time | Latitude | Longitude | Depth/km | Author | MagType | Magnitude | EventLocationName
us1|2000-01-01T00:00:00|10.5|-20.25|33|us|mb|5.5|"FOO | is no quote
us2|2000-01-02T00:00:00|11.5|-21.25|33|us|mb|4.5|BAZ
""".replace("FOO |", "FOO")


@pytest.fixture
def read(tmp_path):
    """Read a file of this name and content."""

    def run(name, content, *arguments, **options):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_points(tmp_path / name, *arguments, **options)

    return run


def places(found):
    return list(zip(found.longitude.tolist(), found.latitude.tolist(), strict=True))


@pytest.fixture(params=[False, True], ids=["small", "large"])
def any_size(request, monkeypatch):
    """Both ways of reading, whatever the size."""
    if request.param:
        monkeypatch.setattr(point_tables, "_LARGE", 0)


# Layouts.


def test_event_text(read, any_size):
    found = read("events.txt", EVENTS)
    assert places(found) == [(-20.25, 10.5), (-21.25, 11.5)]
    assert found.columns == ("Longitude", "Latitude")
    assert places(read("events.csv", EVENTS, where="magnitude >= 5 and [Depth/km] = 33")) == [(-20.25, 10.5)]
    assert read("events.txt", EVENTS, None, "magtype").groups.tolist() == ["mb", "mb"]
    with pytest.raises(ValueError, match=r"events\.txt, line 3: the latitude 'x' is no number\."):
        read("events.txt", EVENTS.replace("11.5", "x"))


LAYOUTS = {
    "blanks": "id  lat   lon\n1  10 20\n\n22    11   21\n",
    "tabs and blanks": "lat\t lon\n10\t20\n11\t 21\n",
    "units": "Latitude (deg)  Longitude (deg)\n10 20\n11 21\n",
    "names with blanks": "Event name  lat  lon\nA B  10  20\nC D  11  21\n",
    "empty cells in fixed columns": "name     lat   lon depth\nA         10    20   5.0\nB         11    21\n",
    "dates with times": "time              lat lon z\n2020-01-01 00:00  10  20  5\n2020-01-01 00:00  11  21\n",
    "remarks": "# made by a program\n# in degrees\n\nlon,lat\n20,10\n21,11\n",
    "names in a remark": "# made by a program\n# lon lat\n20 10\n# half\n21 11\n",
    "a spreadsheet's separator": "sep=;\nlon;lat\n20,0;10\n21;11,0\n",
    "another": '"sep=^"\r\nlon^lat\r\n20^10\r\n21^11\r\n',
    "bars": "lon|lat\n20|10\n21|11\n",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name, read, any_size):
    found = read("table.txt", LAYOUTS[name])
    assert places(found) == [(20.0, 10.0), (21.0, 11.0)]
    assert (found.n_without, found.n_bad, found.first_bad, found.frame.name) == (0, 0, None, "earth")


def test_lines_are_counted_from_the_first(read):
    with pytest.raises(ValueError, match=r"a\.csv, line 4: the latitude 'x' is no number"):
        read("a.csv", "sep=;\nlon;lat\n1;2\n3;x\n")
    with pytest.raises(ValueError, match=r"a\.dat, line 4: the longitude 'x' is no number"):
        read("a.dat", "# a remark\n# lon lat\n1 2\nx 2\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 4 has 2 of 3 columns"):
        read("a.txt", "id  lat   lon\n1  10 20\n22    11   21\n3 12\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 3 has 2 of 3 columns"):
        read("a.txt", "lat lon depth\n10 20 5\n11 21\n")
    with pytest.raises(ValueError, match=r"a\.csv holds no points\."):
        read("a.csv", "# lon,lat\n")


# Names of columns.

NAMES = [
    "reclat,reclong", "decLat,decLong", "lat_deg,lon_deg", "LAT_N,LON_E", "EventLatitude,EventLongitude", "lat,lng",
    "begin_lat,begin_lon", "INTPTLAT,INTPTLON", "decimallatitude,decimallongitude", "Lat.,Long.", "geo_lat,geo_lon",
    "latitude_wgs84,longitude_wgs84", "lat(degN),lon(degE)", "lat[°],lon[°]", "y,x",
]  # fmt: skip


@pytest.mark.parametrize("names", [*NAMES, "Latitude (deg),Longitude (deg)", "Event latitude,Event longitude"])
def test_names_that_catalogues_use(names, read):
    assert places(read("a.csv", f"{names},note\n10,20,x\n")) == [(20.0, 10.0)]


@pytest.mark.parametrize(
    "names",
    ["lat_rad,lon_rad", "Latitude (rad),Longitude (rad)", "LAT_S,LON_W", "lat_min,lon_min", "LatD,LonD",
     "lat,long_name", "lat_error,lon_error", "flat,salon"],
)  # fmt: skip
def test_names_that_are_something_else(names, read):
    with pytest.raises(ValueError, match="no columns that look like longitude and latitude; it has") as error:
        read("a.csv", f"{names}\n10,20\n")
    assert str(error.value).endswith("Name them with columns=(longitude, latitude).")


def test_several_pairs_of_columns_are_no_guess(read):
    with pytest.raises(ValueError, match=r"several columns .* 'begin_lon', 'end_lon', 'begin_lat', 'end_lat'") as error:
        read("a.csv", "begin_lat,begin_lon,end_lat,end_lon\n1,2,3,4\n")
    assert str(error.value).endswith("Name two with columns=(longitude, latitude).")
    with pytest.raises(ValueError, match=r"several columns .* 'lon', 'lon_deg', 'lat'"):
        read("a.csv", "lat,lon,lon_deg\n1,2,3\n")
    # The plain names are meant where there are both.
    assert places(read("a.csv", "station_lat,station_lon,lat,lon\n1,2,3,4\n")) == [(4.0, 3.0)]


# Geometry as text.


def test_points_as_wkt(read, tmp_path):
    import geopandas
    import pyarrow as pa
    import pyarrow.parquet as pq
    import shapely

    rows = ["POINT (10 20)", "POINT Z (11 21 5)", "", "POINT EMPTY", "srid=4326; point(1e1 2.5)"]
    expected = [(10.0, 20.0), (11.0, 21.0), (10.0, 2.5)]
    for name in ("geometry", "WKT", "the_geom", "geom"):
        found = read("a.csv", "\n".join([f"id,{name}", *(f"{k},{row}" for k, row in enumerate(rows))]))
        assert (places(found), found.n_without) == (expected, 2)
    with pytest.raises(ValueError, match=r"a\.csv, line 2: 'LINESTRING \(1 2, 3 4\)' is no POINT \(x y\) in degrees\."):
        read("a.csv", 'geom\n"LINESTRING (1 2, 3 4)"\n')
    with pytest.raises(ValueError, match="'SRID=3857;POINT \\(1 2\\)' is no POINT"):
        read("a.csv", "geom\nSRID=3857;POINT (1 2)\n")
    pq.write_table(pa.table({"geometry": [row or None for row in rows], "m": range(5)}), tmp_path / "a.parquet")
    assert places(read_points(tmp_path / "a.parquet", where="m < 4")) == expected[:2]
    frame = geopandas.GeoDataFrame({"m": [1, 2]}, geometry=shapely.points([1, 2], [3, 4]), crs=4326)
    frame.to_crs(3857).to_parquet(tmp_path / "b.parquet")
    np.testing.assert_allclose(places(read_points(tmp_path / "b.parquet", where="m = 2")), [(2.0, 4.0)])


# Which rows.


def test_filters_of_points_in_every_format(tmp_path, read, any_size):
    import geopandas
    import pyarrow as pa
    import pyarrow.parquet as pq
    import shapely

    lon, lat, mag = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [4.5, 5.0, None]
    lines = [f"{a},{b},{'' if c is None else c}" for a, b, c in zip(lon, lat, mag, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["lon,lat,mag", *lines]))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    pq.write_table(pa.table({"lon": lon, "lat": lat, "mag": mag}), tmp_path / "a.parquet")
    geopandas.GeoDataFrame({"mag": mag}, geometry=shapely.points(lon, lat), crs=4326).to_file(tmp_path / "a.gpkg")
    features = [
        {"type": "Feature", "properties": {"mag": c}, "geometry": {"type": "Point", "coordinates": [a, b]}}
        for a, b, c in zip(lon, lat, mag, strict=True)
    ]
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    for ending in ("csv", "csv.gz", "parquet", "gpkg", "geojson"):
        path = tmp_path / f"a.{ending}"
        assert places(read_points(path, where="MAG >= 5")) == [(2.0, 5.0)], ending
        assert places(read_points(path, where="mag = null")) == [(3.0, 6.0)], ending
        with pytest.raises(ValueError, match=rf"a\.{ending} has no column 'depth' for the filter 'depth > 1'; it has"):
            read_points(path, where="depth > 1")
        with pytest.raises(
            ValueError, match=r"'mag > 9' matches none of the 3 \w+ of a\.\S+ 'mag' has values such as '?4\.5"
        ):
            read_points(path, where="mag > 9")
    with pytest.raises(ValueError, match="has no properties: the filter 'mag > 1' cannot be used on it"):
        read("p.geojson", '{"type": "Point", "coordinates": [1, 2]}', where="mag > 1")
    with pytest.raises(ValueError, match=r"The filter .1 = 2. matches none of the 1 rows of b\.csv\.$"):
        read("b.csv", "lon,lat\n1,2\n", where="1 = 2")
    # What is left out by a filter need not be good.
    assert places(read("b.csv", "lon,lat,mag\nx,1,4\n1,2,5\n", where="mag = 5")) == [(1.0, 2.0)]


# Bad rows.

BAD = "lon,lat,note\n1,2,\nx,3,\n4,95,\n5,6\nNA,3,\n400,1,\ninf,0,\n6,7,\n"


def test_bad_rows_are_refused_or_counted(read, any_size):
    with pytest.raises(ValueError, match=r"bad\.csv, line 3: the longitude 'x' is no number\."):
        read("bad.csv", BAD)
    found = read("bad.csv", BAD, None, "lon", bad="skip")
    assert places(found) == [(1.0, 2.0), (6.0, 7.0)]
    assert (found.n_without, found.n_bad, found.first_bad) == (1, 5, "line 3: the longitude 'x' is no number")
    assert found.groups.tolist() == ["1", "6"]
    for content, first in (
        ("lon,lat\n1,2\n4,-95\n", "line 3: the latitude -95 is beyond ±90 degrees"),
        ("lon,lat\n1,2\n-361,5\n", "line 3: the longitude -361 is beyond ±360 degrees"),
        ("lon,lat\n1,2\n3\n", "line 3 has 1 of 2 columns"),
    ):
        found = read("bad.csv", content, bad="skip")
        assert (len(found), found.n_bad, found.first_bad) == (1, 1, first)
    with pytest.raises(ValueError, match=r"holds no points: all 1 rows are bad, the first: line 2: the longitude 'x'"):
        read("bad.csv", "lon,lat\nx,1\n", bad="skip")
    with pytest.raises(ValueError, match="bad='drop' is not an option"):
        read("bad.csv", BAD, bad="drop")


def test_bad_rows_of_other_formats(read, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = [
        {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": place}}
        for place in ([1, 2], ["x", 2], [3, 95], [])
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    found = read("a.geojson", text, bad="skip")
    assert (places(found), found.n_bad) == ([(1.0, 2.0)], 3)
    assert found.first_bad == "feature 1: the coordinates ['x', 2] are no two numbers"
    with pytest.raises(ValueError, match=r"a\.geojson is JSON, but no GeoJSON of points"):
        read("a.geojson", text)
    pq.write_table(pa.table({"lon": ["a", "1", None], "lat": [1.0, 2.0, 3.0]}), tmp_path / "a.parquet")
    found = read_points(tmp_path / "a.parquet", bad="skip")
    assert (places(found), found.n_without, found.n_bad) == ([(1.0, 2.0)], 1, 1)
    assert found.first_bad == "row 0: the longitude 'a' is no number"
    pq.write_table(pa.table({"lon": [1.0, 2.0], "lat": [2.0, 91.0]}), tmp_path / "b.parquet")
    assert read_points(tmp_path / "b.parquet", bad="skip").first_bad == "row 1: the latitude 91 is beyond ±90 degrees"


# The sky.

ANGLES = {
    "17 45 40.04": (266.4168333333333, 17.761122222222223),
    "17:45:40": (266.4166666666667, 17.761111111111113),
    "17h45m40.04s": (266.4168333333333, 266.4168333333333),
    "-29 00 28": (None, -29.00777777777778),
    "−29d00m28s": (None, -29.00777777777778),
    "-00 12 30": (None, -0.20833333333333334),
    "+12°30'36\"": (12.51, 12.51),
    "17h 45.5m": (266.375, 266.375),
    " 266.5 ": (266.5, 266.5),
    "1.5h": (22.5, 22.5),
    "12.5d": (12.5, 12.5),
}


@pytest.mark.parametrize("text", ANGLES)
def test_angles(text):
    hours, degrees = ANGLES[text]
    assert parse_angle(text) == pytest.approx(degrees, rel=1e-12)
    if hours is not None:
        assert parse_angle(text, hours=True) == pytest.approx(hours, rel=1e-12)


@pytest.mark.parametrize(
    "text", ["", "x", "17 60 00", "17:45:61", "1 2 3 4", "12 -30 00", "1_0", "17::40", "1.5 30 00", "٤ 30 0"]
)
def test_what_is_no_angle(text):
    with pytest.raises(ValueError, match="is no angle"):
        parse_angle(text)


@pytest.mark.parametrize(
    "names",
    ["ra,dec", "RA_deg,DEC_deg", "RAJ2000,DEJ2000", "_RAJ2000,_DEJ2000", "right_ascension,declination", "alpha,delta",
     "RA (deg),Dec (deg)", "ra,decl", "ra,de", "RA_ICRS,DE_ICRS", "RA(J2000),Dec(J2000)", "ra [h:m:s],dec [d:m:s]"],
)  # fmt: skip
def test_names_of_right_ascension(names, read):
    found = read("a.csv", f"{names}\n266.5,-29\n17 46 00,-29 00 00\n", frame="icrs")
    np.testing.assert_allclose(places(found), [(266.5, -29.0)] * 2)
    assert found.frame.name == found.read_as.name == "icrs"


@pytest.mark.parametrize(
    "names", ["l,b", "GLON,GLAT", "galactic_l_deg,galactic_b_deg", "gal_lon,gal_lat", "l (deg),b (deg)", "lII,bII"]
)
def test_names_of_galactic_longitude(names, read):
    assert places(read("a.csv", f"{names}\n266.5,-29\n", frame="galactic")) == [(266.5, -29.0)]


def test_frames_are_converted_where_a_file_has_only_the_other(read):
    from astropy.coordinates import SkyCoord

    equatorial = read("a.csv", "ra,dec\n17 45 40.04,-29 00 28.1\n10.5,80\n", frame="galactic")
    expected = SkyCoord([266.416833333, 10.5], [-29.0078056, 80.0], unit="deg").galactic
    np.testing.assert_allclose(places(equatorial), list(zip(expected.l.deg, expected.b.deg, strict=True)), atol=1e-6)
    assert (equatorial.frame.name, equatorial.read_as.name) == ("galactic", "icrs")
    galactic = read("b.csv", "glon,glat\n0,0\n", frame="icrs")
    np.testing.assert_allclose(places(galactic), [(266.40498829, -28.93617776)], atol=1e-7)
    both = read("c.csv", "ra,dec,l,b\n1,2,3,4\n", frame="galactic")
    assert (places(both), both.read_as.name) == ([(3.0, 4.0)], "galactic")
    named = read("d.csv", "ra,dec,p,q\n1,2,17:00:00,4\n", ("p", "q"), frame="icrs")
    assert places(named) == [(255.0, 4.0)]
    named = read("d.csv", "ra,dec,p,q\n1,2,17:00:00,4\n", ("p", "q"), frame="galactic")
    assert places(named) == [(17.0, 4.0)]


def test_what_is_said_of_columns_of_the_sky(read):
    with pytest.raises(ValueError, match=r"It has right ascension and declination instead, .* frame='icrs'"):
        read("a.csv", "name,ra,dec\nx,1,2\n")
    with pytest.raises(
        ValueError, match="no columns that look like right ascension and declination; it has 'lon', 'lat'"
    ):
        read("a.csv", "lon,lat\n1,2\n", frame="icrs")
    with pytest.raises(
        ValueError, match="several columns that look like right ascension and declination: 'ra', 'RAJ2000'"
    ):
        read("a.csv", "ra,RAJ2000,dec\n1,2,3\n", frame="icrs")
    # Those that a service computed come with an underscore.
    assert places(read("a.csv", "_RAJ2000,_DEJ2000,RAJ2000,DEJ2000\n1,2,3,4\n", frame="icrs")) == [(1.0, 2.0)]
    with pytest.raises(ValueError, match="line 2: the declination 'x' is no angle"):
        read("a.csv", "ra,dec\n1,x\n", frame="icrs")
    with pytest.raises(
        ValueError, match=r"frame='mars' is not an option. Choose one of \['earth', 'icrs', 'galactic'\]"
    ):
        read("a.csv", "ra,dec\n1,2\n", frame="mars")


# The command.


@pytest.fixture
def command(capsys, monkeypatch, tmp_path):
    """The command in this process: exit code, standard output and standard error."""
    monkeypatch.setattr("warnings.showwarning", None)  # put back afterwards
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return end.value.code, *capsys.readouterr()

    return run


def test_the_command_reads_the_sky(command, tmp_path):
    truth = {"mean_direction": tmsm.lonlat_to_xyz(266.4, -29.0), "concentration": 20.0}
    lon, lat = tmsm.xyz_to_lonlat(tmsm.VonMisesFisher().sample(200, random_state=0, **truth))
    (tmp_path / "sky.csv").write_text(
        "ra,dec\n" + "".join(f"{a % 360},{b}\n" for a, b in zip(lon, lat, strict=True)) + "x,1\n"
    )
    estimates = {}
    for sky in ("icrs", "galactic"):
        code, out, errors = command("fit", "sky.csv", "--region", "everywhere", "--sky", sky, "--bad", "skip", "--json")
        assert code == 0, errors
        assert "1 bad row of sky.csv left out; the first: line 202: the right ascension 'x' is no angle." in errors
        turned = "sky.csv has right ascension and declination, which were turned into galactic longitude"
        assert (turned in errors) is (sky == "galactic")
        estimates[sky] = json.loads(out)["estimates"]["concentration"]["estimate"]
    assert estimates["icrs"] == pytest.approx(estimates["galactic"], rel=1e-9)
    cases = {
        (
            "--region",
            "usa",
            "--sky",
            "icrs",
            "--bad",
            "skip",
        ): "usa is a border on the Earth, and --sky icrs is for points",
        ("--region", "usa"): "Name them with --columns LON,LAT, or use --sky icrs.",
        ("--region", "usa", "--sky", "mars"): "--sky='mars' is not an option. Choose one of ['icrs', 'galactic']",
        ("--region", "usa", "--bad", "drop"): "--bad='drop' is not an option. Choose one of ['raise', 'skip']",
        ("--region", "everywhere", "--sky", "icrs"): "sky.csv, line 202: the right ascension 'x' is no angle.",
    }
    for options, message in cases.items():
        code, _, errors = command("fit", "sky.csv", *options)
        assert (code, message in errors) == (2, True), errors
    (tmp_path / "earth.csv").write_text("lon,lat\n1,2\n")
    assert "or leave --sky out." in command("fit", "earth.csv", "--region", "everywhere", "--sky", "icrs")[2]


def test_the_command_filters(command, tmp_path):
    ring = [[-10, -10], [10, -10], [10, 10], [-10, 10], [-10, -10]]
    far = [[50, -10], [70, -10], [70, 10], [50, 10], [50, -10]]
    features = [
        {"type": "Feature", "properties": {"NAME": name}, "geometry": {"type": "Polygon", "coordinates": [one]}}
        for name, one in (("near", ring), ("far", far))
    ]
    (tmp_path / "world.json").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    draws = np.random.default_rng(0).uniform(-9, 9, (100, 2))
    lines = [f"{a},{b},{k}" for k, (a, b) in enumerate(draws)]
    (tmp_path / "points.csv").write_text("\n".join(["lon,lat,mag", *lines, "60,0,-1"]))
    near = ("--where", "NAME = 'near'", "--points-where", "mag >= 20")
    code, out, errors = command("fit", "points.csv", "--region", "world.json", *near, "--json")
    assert (code, json.loads(out)["n_samples"]) == (0, 80), errors
    code, out, errors = command("compare", "points.csv", "--region", "world.json", *near, "--models", "vmf")
    assert (code, "80 points, best first" in out) == (0, True), errors
    code, out, _ = command("region", "world.json", "--where", "NAME = 'far'")
    assert (code, "50° to 70°" in out) == (0, True)
    code, out, _ = command("region", "world.json - cap:0,0,5 - world.json[NAME = 'far']")
    assert (code, "of the sphere" in out) == (0, True)
    code, out, _ = command("region", "cap:0,0,0.001 - box:-60,-20,-59,-19")
    assert "none, or too small to see" in command("region", "box:0,0,10,10 & box:10,0,20,10")[1]
    assert f"{np.pi * (0.001 * np.pi / 180) ** 2 * 6371.0088**2:.5g} km²" in out
    draw = ["simulate", "5", "--mean=60,0", "--concentration", "5", "--region"]
    code, out, errors = command(*draw, "world.json", "--where", "NAME = 'far'")
    assert code == 0, errors
    assert all(50 < float(line.split(",")[0]) < 70 for line in out.splitlines()[1:])
    # Every file that is read is safe from being written over.
    (tmp_path / "other.json").write_text((tmp_path / "world.json").read_text())
    for border in ("world.json - other.json[NAME = 'far']", "cap:0,0,5 & other.json"):
        code, _, errors = command(*draw, border, "--out", "other.json")
        assert (code, "would overwrite a file that is read" in errors) == (2, True), errors


@pytest.mark.parametrize(("ending", "kind"), [("fits", "fits"), ("vot", "votable"), ("ecsv", "ascii.ecsv")])
def test_tables_of_astronomers(tmp_path, ending, kind):
    from astropy import units
    from astropy.table import MaskedColumn, Table

    clusters = tmsm.datasets.load_globular_clusters()
    path = tmp_path / f"clusters.{ending}"
    angles = np.radians(clusters.declination) * units.rad
    Table({"name": clusters.name, "RA": clusters.right_ascension, "DEC": angles, "g": np.arange(150) // 3}).write(
        path, format=kind
    )
    found = read_points(path, groups="g", where="g > 3", frame="icrs")
    np.testing.assert_allclose(found.X, clusters.X[12:], atol=1e-14)
    assert found.groups[0] == "4"
    missing = MaskedColumn(clusters.right_ascension / 15.0, mask=np.arange(150) < 5, unit="h")
    Table({"ra": missing, "dec": clusters.declination}).write(path, format=kind, overwrite=True)
    found = read_points(path, frame="icrs")
    assert found.n_without == 5
    np.testing.assert_allclose(found.X, clusters.X[5:], atol=1e-14)
    Table({"ra": clusters.right_ascension * units.m, "dec": clusters.declination}).write(
        path, format=kind, overwrite=True
    )
    with pytest.raises(ValueError, match="The column 'ra' has the unit 'm', which is none of an angle"):
        read_points(path, frame="icrs")
    path.write_text("no table")
    with pytest.raises(ValueError, match=f"clusters.{ending} cannot be read as a table"):
        read_points(path, frame="icrs")


def test_hours_that_are_taken_for_degrees_are_mentioned(tmp_path):
    from tmsm.cli.inputs import reading_notes

    (tmp_path / "hours.csv").write_text("ra_hours,dec\n17.5,10\n3.25,20\n")
    notes = reading_notes(read_points(tmp_path / "hours.csv", columns=("ra_hours", "dec"), frame="icrs"))
    assert any(
        "'ra_hours' of hours.csv looks like hours, and its values were taken for degrees" in note for note in notes
    )
    (tmp_path / "hours.csv").write_text("ra,dec\n17.5,10\n3.25,20\n")
    assert reading_notes(read_points(tmp_path / "hours.csv", frame="icrs")) == []
