"""The command line as a person uses it: files in, tables and files out, one line for what is wrong."""

import csv
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tmsm
from tests.registry import sampled

BORDER = {"type": "Polygon", "coordinates": [[[-100, 25], [-75, 25], [-75, 48], [-100, 48], [-100, 25]]]}
FORMATS = ["points.csv", "points.csv.gz", "points.tsv", "points.geojson", "points.parquet", "points.gpkg"]
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(-78.0, 30.0), "concentration": 60.0}


def run(*arguments, cwd, **options):
    command = [sys.executable, "-c", "from tmsm.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "120", "MPLBACKEND": "Agg"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, **options)


def good(*arguments, cwd):
    done = run(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A border, and the same points in every format."""
    place = tmp_path_factory.mktemp("data")
    (place / "border.geojson").write_text(json.dumps(BORDER))
    region = tmsm.SphericalPolygon.from_geojson(BORDER)
    X = tmsm.VonMisesFisher().sample(600, region, random_state=0, **TRUTH)
    lon, lat = tmsm.xyz_to_lonlat(X)
    storms = [f"storm {k // 4}" for k in range(600)]
    rows = list(zip(lon, lat, storms, strict=True))
    lines = [f"{a!r},{b!r},{c}" for a, b, c in ((float(a), float(b), c) for a, b, c in rows)]
    (place / "points.csv").write_text("\n".join(["Longitude,LATITUDE,storm", *lines]))
    (place / "points.csv.gz").write_bytes(gzip.compress((place / "points.csv").read_bytes()))
    (place / "points.tsv").write_text("\n".join(["x\ty", *(f"{a}\t{b}" for a, b, _ in rows)]))
    features = [
        {"type": "Feature", "properties": {"storm": c}, "geometry": {"type": "Point", "coordinates": [a, b]}}
        for a, b, c in rows
    ]
    (place / "points.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    import geopandas
    import pyarrow as pa
    import pyarrow.parquet as pq
    import shapely

    pq.write_table(pa.table({"lon": lon, "lat": lat, "storm": storms}), place / "points.parquet")
    geometry = shapely.points(lon, lat)
    geopandas.GeoDataFrame({"storm": storms}, geometry=geometry, crs=4326).to_file(place / "points.gpkg")
    polygon = geopandas.GeoDataFrame(geometry=[shapely.Polygon(BORDER["coordinates"][0])], crs=4326)
    polygon.to_file(place / "border.gpkg")
    (place / "outside.csv").write_text((place / "points.csv").read_text() + "\n10,50,far\n,,none\n")
    return place


def estimate(done):
    return json.loads(done.stdout)["estimates"]["concentration"]["estimate"]


@pytest.mark.parametrize(
    ("name", "border"),
    [
        ("points.csv", "border.geojson"),
        *(pytest.param(name, "border.geojson", marks=pytest.mark.slow) for name in FORMATS[1:]),
        pytest.param("points.csv", "border.gpkg", marks=pytest.mark.slow),
    ],
)
def test_every_format_gives_the_same_fit(folder, name, border):
    with (folder / "points.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    X = tmsm.lonlat_to_xyz([float(row[0]) for row in rows], [float(row[1]) for row in rows])
    region = tmsm.SphericalPolygon.from_geojson(BORDER)
    expected = tmsm.ScoreMatching(tmsm.VonMisesFisher(), region).fit(X).params_.concentration
    done = good("fit", name, "--region", border, "--json", cwd=folder)
    assert estimate(done) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_csv_as_it_comes(folder, tmp_path):
    expected = good("fit", "points.csv", "--region", "border.geojson", "--json", cwd=folder)
    text = (folder / "points.csv").read_text()
    variants = {
        "semicolons.csv": text.replace(",", ";"),
        "windows.csv": text.replace("\n", "\r\n"),
        "mark.csv": "\ufeff" + text,
        "quoted.csv": "\n".join('"' + line.replace(",", '","') + '"' for line in text.splitlines()),
        "empty lines.csv": text.replace("\n", "\n\n"),
        "decimal commas.csv": text.replace(",", ";").replace(".", ","),
        "missing.csv": text + "\nNA,35,x\n-90,NULL,x\n",
        "GBIF.csv": text.replace("Longitude", "decimalLongitude").replace("LATITUDE", "decimalLatitude"),
    }
    for name, content in variants.items():
        (tmp_path / name).write_bytes(content.encode())
        done = good("fit", tmp_path / name, "--region", folder / "border.geojson", "--json", cwd=tmp_path)
        assert estimate(done) == pytest.approx(estimate(expected), rel=1e-12), name


def test_large_files_are_read_alike(folder, tmp_path, monkeypatch):
    from tmsm.data import point_files as points
    from tmsm.data import point_tables

    text = (folder / "outside.csv").read_text()
    (tmp_path / "text.csv").write_text(text.replace("-9", "nine", 1))
    slow = points.read_points(folder / "outside.csv", groups="storm")
    monkeypatch.setattr(point_tables, "_LARGE", 0)
    quick = points.read_points(folder / "outside.csv", groups="STORM")
    assert quick.columns == slow.columns == ("Longitude", "LATITUDE")
    assert quick.n_without == slow.n_without == 1
    np.testing.assert_array_equal(quick.longitude, slow.longitude)
    np.testing.assert_array_equal(quick.latitude, slow.latitude)
    np.testing.assert_array_equal(quick.groups, slow.groups)
    assert points.read_points(folder / "points.tsv").groups is None
    # What is wrong is told by its line, whoever reads.
    with pytest.raises(ValueError, match=r"text\.csv, line \d+: the longitude 'nine"):
        points.read_points(tmp_path / "text.csv")


def test_the_table_of_a_fit(folder):
    done = good("fit", "points.csv", "--region", "border.geojson", cwd=folder)
    assert done.stdout.startswith("ScoreMatching: VonMisesFisher\n")
    assert "concentration" in done.stdout
    assert "goodness of fit" in done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_methods_models_and_what_is_known(folder):
    for options, title in (
        (["--method", "mle"], "TruncatedMLE: VonMisesFisher"),
        (["--method", "refined"], "ScoreMatching: VonMisesFisher"),
        (["--method", "naive"], "NaiveMLE: VonMisesFisher"),
        (["--known", "concentration=60"], "ScoreMatching: VonMisesFisher(concentration=60.0)"),
        (["--model", "kent", "--known", "ovalness=1"], "ScoreMatching: Kent(ovalness=1.0)"),
        (["--weight", "geodesic"], "ScoreMatching"),
    ):
        assert good("fit", "points.csv", "--region", "border.geojson", *options, cwd=folder).stdout.startswith(title)


@pytest.mark.slow
def test_groups_widen_the_errors(folder):
    def error(*options):
        done = good("fit", "points.csv", "--region", "border.geojson", "--json", *options, cwd=folder)
        found = json.loads(done.stdout)
        return found["estimates"]["concentration"]["std_error"], found["n_groups"]

    assert error()[1] is None
    value, count = error("--groups", "storm")
    assert count == 150
    assert value == pytest.approx(error()[0], rel=0.3)  # these groups are no groups


def test_points_outside_are_dropped_on_request_and_said(folder):
    done = good("fit", "outside.csv", "--region", "border.geojson", "--outside", "drop", cwd=folder)
    assert "1 rows of outside.csv have no coordinates" in done.stderr
    assert "1 of 601 points lie outside the border" in done.stderr


def test_a_box_for_rounded_points(tmp_path):
    from tmsm.cli.inputs import read_region, rows_inside
    from tmsm.data.point_files import read_points

    box = tmsm.LonLatBox(-100, 25, -75, 48, rounded=0.5)
    assert read_region("box:-100,25,-75,48,rounded=0.5") == box
    assert read_region("box:-100,25,-75,48,rounded=2.5/2") == tmsm.LonLatBox(-100, 25, -75, 48, rounded=(2.5, 2))
    with pytest.raises(ValueError, match="After them may come rounded="):
        read_region("box:-100,25,-75,48,rounded=half")
    lon, lat = np.random.default_rng(0).uniform([[-100], [25]], [[-75], [48]], (2, 400))
    lines = [f"{a},{b}" for a, b in zip(np.rint(2 * lon) / 2, np.rint(2 * lat) / 2, strict=True)]
    (tmp_path / "rounded.csv").write_text("\n".join(["lon,lat", *lines]))
    points = read_points(tmp_path / "rounded.csv", None)
    with pytest.raises(ValueError, match=r"exactly on the border. Write box:WEST,SOUTH,EAST,NORTH,rounded=0\.5"):
        rows_inside(points, tmsm.LonLatBox(-100, 25, -75, 48), "raise")
    inside = rows_inside(points, box, "raise")  # those on the border are left out by themselves
    assert 300 < inside.sum() < 400


def test_save_and_show(folder, tmp_path):
    first = good("fit", "points.csv", "--region", "border.geojson", "--save", tmp_path / "fit.json", cwd=folder)
    shown = good("show", tmp_path / "fit.json", cwd=tmp_path)
    assert shown.stdout == first.stdout
    content = json.loads((tmp_path / "fit.json").read_text())
    assert (content["format"], content["version"]) == ("tmsm fit", 2)
    assert content["made_by"]["tmsm"] == tmsm.__version__
    rows = content.pop("fit")["rows"]
    assert rows["X"]["shape"] == [600, 3]
    assert json.loads(good("show", "--json", tmp_path / "fit.json", cwd=tmp_path).stdout) == content
    assert [path.name for path in tmp_path.iterdir()] == ["fit.json"]


@pytest.mark.slow
def test_copies_are_told_of(folder, tmp_path):
    lines = (folder / "points.csv").read_text().splitlines()
    (tmp_path / "copies.csv").write_text("\n".join([*lines, *lines[1:200]]))
    arguments = ["fit", tmp_path / "copies.csv", "--region", folder / "border.geojson"]
    assert "199 of 799 points are exact copies of others" in good(*arguments, cwd=tmp_path).stderr
    assert good(*arguments, "--groups", "storm", cwd=tmp_path).stderr == ""


@pytest.mark.slow
def test_a_border_across_the_antimeridian_is_described_the_short_way(tmp_path):
    ring = [[170, -20], [180, -20], [180, 10], [170, 10], [170, -20]]
    other = [[-180, -20], [-160, -20], [-160, 10], [-180, 10], [-180, -20]]
    (tmp_path / "fiji.geojson").write_text(json.dumps({"type": "MultiPolygon", "coordinates": [[ring], [other]]}))
    assert "170° to -160°" in good("region", "fiji.geojson", cwd=tmp_path).stdout


def test_compare(folder):
    done = good("compare", "points.csv", "--region", "border.geojson", "--models", "vmf,kent", cwd=folder)
    assert "600 points, best first" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()[3:]] == ["vmf", "kent"]


def test_compare_methods_with_what_is_known_and_groups_as_json(folder):
    arguments = ["compare", "points.csv", "--region", "border.geojson", "--models", "vmf,fisher-bingham"]
    more = ["--methods", "score,mle,naive", "--known", "concentration=60", "--groups", "storm", "--json"]
    found = json.loads(good(*arguments, *more, cwd=folder).stdout)
    assert found["n_samples"] == 600
    rows = {(row["model"], row["method"]): row for row in found["fits"]}
    assert set(rows) == {(model, method) for model in ("vmf", "fisher-bingham") for method in ("score", "mle", "naive")}
    assert [row["criterion"] for row in found["fits"]] == sorted(row["criterion"] for row in found["fits"])
    # What is known is not counted, where a model can know it.
    assert {name: row["parameters"] for name, row in rows.items()} == {
        ("vmf", "score"): 2, ("vmf", "mle"): 2, ("vmf", "naive"): 2,
        ("fisher-bingham", "score"): 8, ("fisher-bingham", "mle"): 8, ("fisher-bingham", "naive"): 8,
    }  # fmt: skip
    assert rows["vmf", "naive"]["above_the_best"] > 0.0
    assert rows["vmf", "naive"]["p_value"] is None
    table = good(*arguments, "--methods", "score,naive", "--known", "concentration=60", cwd=folder).stdout
    assert "naive" in table


@pytest.mark.slow
def test_region_and_its_picture(folder, tmp_path):
    done = good("region", folder / "border.geojson", "--plot", tmp_path / "border.png", cwd=tmp_path)
    square = tmsm.SphericalPolygon.from_geojson(BORDER)
    assert f"{square.area * 6371.0088**2:,.0f} km²" in done.stdout
    assert (tmp_path / "border.png").read_bytes().startswith(b"\x89PNG")
    assert "Cap(" in good("region", "cap:10,20,30", cwd=tmp_path).stdout


@pytest.mark.slow
def test_simulate_and_fit_again(tmp_path):
    arguments = ["--region", "usa", "--mean=-80,31", "--concentration", "60", "--seed", "3"]
    good("simulate", "3000", *arguments, "--out", "a.csv", cwd=tmp_path)
    assert good("simulate", "3000", *arguments, cwd=tmp_path).stdout == (tmp_path / "a.csv").read_text()
    found = json.loads(good("fit", "a.csv", "--region", "usa", "--json", cwd=tmp_path).stdout)["estimates"]
    kappa = found["concentration"]
    assert abs(kappa["estimate"] - 60.0) < 3.5 * kappa["std_error"]
    kent = ["--model", "kent", "--mean", "0,0", "--concentration", "20", "--ovalness", "5", "--toward", "90,0"]
    done = good("simulate", "5", "--region", "cap:0,0,60", *kent, cwd=tmp_path)
    assert len(done.stdout.splitlines()) == 6


@pytest.mark.slow
def test_a_picture_of_the_fit(folder, tmp_path):
    good("fit", "points.csv", "--region", "border.geojson", "--plot", tmp_path / "fit.svg", cwd=folder)
    assert b"<svg" in (tmp_path / "fit.svg").read_bytes()


BAD = {
    "no file": (["fit", "absent.csv", "--region", "usa"], "There is no file 'absent.csv'"),
    "folder": (["fit", ".", "--region", "usa"], "is a folder; give the file that holds the points"),
    "empty": (["fit", "empty.csv", "--region", "usa"], "empty.csv is empty"),
    "heading only": (["fit", "heading.csv", "--region", "usa"], "heading.csv holds no points"),
    "no columns": (
        ["fit", "names.csv", "--region", "usa"],
        "no columns that look like longitude and latitude; it has 'a', 'b'",
    ),
    "wrong columns": (
        ["fit", "good.csv", "--region", "usa", "--columns", "east,north"],
        "has no column 'east' for the longitude",
    ),
    "one column": (["fit", "good.csv", "--region", "usa", "--columns", "lon"], "--columns must be two names"),
    "text": (["fit", "text.csv", "--region", "usa"], "text.csv, line 3: the latitude 'north' is no number"),
    "metres": (["fit", "metres.csv", "--region", "usa"], "Projected coordinates (metres) must be turned into degrees"),
    "swapped": (["fit", "swapped.csv", "--region", "usa"], "With longitude and latitude swapped some would"),
    "none inside": (
        ["fit", "good.csv", "--region", "box:0,0,10,10"],
        "None of the 3 points of good.csv lies inside the border",
    ),
    "some outside": (["fit", "mixed.csv", "--region", "usa"], "1 of the 4 points of mixed.csv lie outside the border"),
    "too few": (["fit", "two.csv", "--region", "usa"], "cannot determine 3 parameters"),
    "several columns": (
        ["fit", "several.csv", "--region", "usa"],
        "several columns that look like longitude and latitude",
    ),
    "same names": (["fit", "same.csv", "--region", "usa", "--columns", "lon,lat"], "has several columns 'lon'"),
    "UTF-16": (["fit", "wide.csv", "--region", "usa"], "wide.csv is no plain text (UTF-16, or a workbook)"),
    "blank groups": (
        ["fit", "blank.csv", "--region", "usa", "--groups", "herd"],
        "2 of 3 points without a value in 'herd'",
    ),
    "long row": (["fit", "long.csv", "--region", "usa"], "long.csv, line 2 has 3 of 2 columns"),
    "over the points": (
        ["fit", "many.csv", "--region", "usa", "--save", "many.csv"],
        "would overwrite a file that is read",
    ),
    "over the border": (
        ["fit", "many.csv", "--region", "polygon.geojson", "--report", "polygon.geojson"],
        "--report 'polygon.geojson' would overwrite a file that is read",
    ),
    "one output": (
        ["fit", "many.csv", "--region", "usa", "--save", "a", "--report", "a"],
        "--save and --report are one file",
    ),
    "picture": (["fit", "many.csv", "--region", "usa", "--plot", "a.xyz"], "must end in .png, .svg, .pdf, .jpg"),
    "picture of a border": (["region", "usa", "--plot", "a.xyz"], "must end in .png, .svg, .pdf, .jpg"),
    "border is a folder": (
        ["fit", "good.csv", "--region", "."],
        "'.' is a folder; give the file that holds the border",
    ),
    "radius": (["fit", "good.csv", "--region", "cap:0,0,-5"], "must be between 0 and 180 degrees; got -5"),
    "models": (["compare", "good.csv", "--region", "usa", "--models", "foo"], "--models='foo' is not an option"),
    "methods": (["compare", "good.csv", "--region", "usa", "--methods", "foo"], "--methods='foo' is not an option"),
    "known of none": (
        ["compare", "good.csv", "--region", "usa", "--models", "vmf,bingham", "--known", "ovalness=2"],
        "--known ovalness is for none of the models vmf, bingham.",
    ),
    "mark": (
        ["fit", "good.csv", "--region", "usa", "--mark", "Vienna"],
        "--mark 'Vienna' must be NAME=LON,LAT in degrees, such as Vienna=16.37,48.21.",
    ),
    "mark off the sphere": (
        ["fit", "good.csv", "--region", "usa", "--mark", "Vienna=16.4,148.2"],
        "--mark 'Vienna=16.4,148.2' is not on the sphere: lat must be within ±90 degrees",
    ),
    "no names of columns": (
        ["fit", "bare.csv", "--region", "usa"],
        "The first line of bare.csv holds numbers alone: put a line with the names of the columns before it.",
    ),
    "report of another kind": (
        ["fit", "good.csv", "--region", "usa", "--report", "r.png"],
        "--report 'r.png' must end in .html, .htm.",
    ),
    "two modes": (
        [
            "simulate",
            "5",
            "--region",
            "usa",
            "--model",
            "kent",
            "--mean=-90,38",
            "--concentration",
            "3",
            "--ovalness",
            "2",
            "--toward=-80,38",
        ],
        "--ovalness 2 is beyond half of --concentration 3: the density would have two modes.",
    ),
    "sky": (["fit", "good.csv", "--region", "everywhere", "--sky", "mars"], "--sky='mars' is not an option"),
    "border of the Earth": (
        ["fit", "good.csv", "--region", "usa", "--sky", "icrs"],
        "good.csv has no columns that look like right ascension and declination",
    ),
    "naive exposure": (
        ["fit", "good.csv", "--region", "usa", "--method", "naive", "--exposure", "none.fits"],
        "none.fits",
    ),
    "simulate oval": (
        ["simulate", "5", "--region", "usa", "--mean=-90,38", "--concentration", "6", "--ovalness", "3"],
        "--ovalness and --toward are for --model kent",
    ),
    "short row": (["fit", "short.csv", "--region", "usa"], "short.csv, line 2 has 1 of 2 columns"),
    "no border": (["fit", "good.csv", "--region", "absent.geojson"], "There is no file 'absent.geojson'"),
    "border is no JSON": (["fit", "good.csv", "--region", "broken.geojson"], "broken.geojson is not JSON"),
    "border of points": (["fit", "good.csv", "--region", "point.geojson"], "A region is made of Polygon"),
    "cap": (["fit", "good.csv", "--region", "cap:1,2"], "cap:1,2 must be cap: and 3 numbers"),
    "polygon as points": (["fit", "polygon.geojson", "--region", "usa"], "holds a Polygon; points are wanted"),
    "ending": (["fit", "good.doc", "--region", "usa"], "good.doc has an ending that is not known"),
    "parquet": (["fit", "broken.parquet", "--region", "usa"], "broken.parquet is no Parquet file"),
    "model": (["fit", "good.csv", "--region", "usa", "--model", "normal"], "--model='normal' is not an option"),
    "method": (["fit", "good.csv", "--region", "usa", "--method", "best"], "--method='best' is not an option"),
    "weight": (
        ["fit", "good.csv", "--region", "usa", "--weight", "heavy"],
        "--weight heavy is not an option. Choose one of ['auto', 'geodesic'",
    ),
    "weight of a likelihood": (
        ["fit", "good.csv", "--region", "usa", "--method", "mle", "--weight", "geodesic"],
        "--weight is for score matching, not for --method mle",
    ),
    "JSON of something else": (
        ["fit", "newer.json", "--region", "usa"],
        "newer.json is JSON, but no GeoJSON of points",
    ),
    "GeoJSON without numbers": (
        ["fit", "odd.geojson", "--region", "usa"],
        "odd.geojson is JSON, but no GeoJSON of points",
    ),
    "known": (["fit", "good.csv", "--region", "usa", "--known", "mean=3"], "--known mean is not for the model vmf"),
    "known text": (["fit", "good.csv", "--region", "usa", "--known", "concentration"], "must be NAME=NUMBER"),
    "outside": (["fit", "good.csv", "--region", "usa", "--outside", "keep"], "--outside='keep' is not an option"),
    "groups": (["fit", "good.csv", "--region", "usa", "--groups", "storm"], "has no column 'storm' for the groups"),
    "save": (
        ["fit", "many.csv", "--region", "usa", "--save", "good.csv/x.json"],
        "'good.csv/x.json' cannot be written: Not a directory",
    ),
    "show": (["show", "good.csv"], "not a fit saved by tmsm"),
    "show JSON": (["show", "polygon.geojson"], "is JSON, but not a fit saved by tmsm"),
    "show newer": (["show", "newer.json"], "and this tmsm reads 1 and 2. It was saved by a later"),
    "show damaged older": (["show", "older.json"], "older.json is damaged: it has no title, estimates, table"),
    "show damaged": (["show", "damaged.json"], "damaged.json is damaged: it has no title, estimates, table"),
    "simulate": (["simulate", "5", "--region", "usa", "--mean", "x", "--concentration", "6"], "--mean must be LON,LAT"),
    "missing option": (["fit", "good.csv"], "Missing option '--region'"),
}


@pytest.fixture(scope="module")
def bad_folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bad")
    three = "-97,39\n-90,35\n-85,40\n"
    many = "".join(f"{-97 + 0.1 * k},{39 + 0.05 * (k % 7)}\n" for k in range(60))
    texts = {
        "empty.csv": "",
        "heading.csv": "lon,lat\n",
        "names.csv": "a,b\n1,2\n",
        "good.csv": f"lon,lat\n{three}",
        "bare.csv": three,
        "good.doc": f"lon,lat\n{three}",
        "many.csv": f"lon,lat\n{many}",
        "text.csv": "lon,lat\n-97,39\n-90,north\n",
        "metres.csv": "x,y\n500000,4200000\n500100,4200100\n",
        "swapped.csv": "lon,lat\n39,-80\n35,-82\n40,-85\n",
        "mixed.csv": f"lon,lat\n{three}10,50\n",
        "two.csv": "lon,lat\n-97,39\n-90,35\n",
        "short.csv": "lon,lat\n-97\n",
        "long.csv": "lon,lat\n-97,39,3\n",
        "several.csv": "lon,longitude,lat\n1,2,3\n",
        "same.csv": "lon,lat,lon\n1,2,3\n",
        "wide.csv": "\0l\0o\0n",
        "blank.csv": "lon,lat,herd\n-97,39,a\n-90,35,\n-85,40,NA\n",
        "broken.geojson": "{",
        "broken.parquet": "no parquet",
        "point.geojson": '{"type": "Point", "coordinates": [1, 2]}',
        "polygon.geojson": json.dumps(BORDER),
        "odd.geojson": '{"features": [{"geometry": {"type": "Point", "coordinates": ["east", null]}}]}',
        "newer.json": '{"format": "tmsm fit", "version": 99}',
        "older.json": '{"format": "tmsm fit", "version": 1}',
        "damaged.json": '{"format": "tmsm fit", "version": 2}',
    }
    for name, text in texts.items():
        (place / name).write_text(text)
    return place


@pytest.mark.parametrize("name", sampled([(name,) for name in BAD], lambda name: BAD[name][0][0]))
def test_bad_input_is_one_line(bad_folder, name):
    arguments, message = BAD[name]
    before = sorted(path.name for path in bad_folder.rglob("*"))
    done = run(*arguments, cwd=bad_folder)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("tmsm: ")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert message in done.stderr
    assert sorted(path.name for path in bad_folder.rglob("*")) == before


@pytest.mark.slow
def test_an_interruption_leaves_nothing_half_written(tmp_path):
    command = [sys.executable, "-c", "from tmsm.cli import main; main()", "reproduce", "accuracy", "--trials", "400"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while process.poll() is None and not list(tmp_path.rglob("*.csv")):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "tmsm: interrupted. What was finished is kept" in errors
    for path in tmp_path.rglob("*.csv"):
        assert not path.name.startswith(".")
        methods = 8 if "kent" in path.name else 7
        assert len(path.read_text().splitlines()) == 1 + methods * 32


def test_an_interrupted_fit_says_so(folder, tmp_path):
    # Waiting for a reader of its output that never comes, the process can be interrupted at leisure.
    code = "import os, signal, tmsm.cli.inputs; from tmsm.cli import main\n"
    code += "tmsm.cli.inputs.read_points = lambda *args, **options: os.kill(os.getpid(), signal.SIGINT)\nmain()"
    command = [
        sys.executable,
        "-c",
        code,
        "fit",
        "points.csv",
        "--region",
        "border.geojson",
        "--save",
        str(tmp_path / "a"),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "tmsm: interrupted.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_demo(tmp_path):
    done = good("demo", cwd=tmp_path)
    lines = {line.split("  ")[0]: line.split() for line in done.stdout.splitlines() if line}
    assert "48 of 150 globular clusters lie north of declination −20°" in done.stdout
    assert "RA 266.1°, Dec −30.0°" in done.stdout
    # The truth is in the confidence regions of all but the fit that ignores the border.
    table = done.stdout.split("Von Mises–Fisher")[1].split("Distance to")[0]
    assert [line.split()[-1] for line in table.splitlines() if "RA" in line] == ["yes", "yes", "yes", "no"]
    # The default weight, g = distance, the exact likelihood, and the fit that ignores the border.
    assert lines["mean"][1:] == ["12.7°", "27.4°", "13.5°", "39.1°"]
    assert lines["closer than ignoring the border"][5:8] == ["18", "of", "18"]
    limits = [line for line in lines if re.fullmatch("−?[0-9]+°", line)]
    assert len(limits) == 18
    assert lines["−20°"][1:] == ["48", "1.0°", "16.0°", "2.1°", "38.9°"]
    names = sorted(path.name for path in (tmp_path / "tmsm-demo").iterdir())
    assert names == ["curve.png", "diagnostics.png", "report.html", "sky.png"]
    page = (tmp_path / "tmsm-demo" / "report.html").read_text()
    assert "Sagittarius A*: 1.05° from the centre, inside its 95 % confidence region." in page
    assert "clusters that were not seen" in page
    assert "Wherever the view ends" in page


@pytest.mark.slow
def test_points_on_the_sky_with_marks_a_picture_and_a_report(tmp_path):
    clusters = tmsm.datasets.load_globular_clusters()
    seen = clusters[clusters.declination > -20.0]
    lines = [f"{a},{b}" for a, b in zip(seen.right_ascension, seen.declination, strict=True)]
    (tmp_path / "clusters.csv").write_text("\n".join(["RAJ2000,DEJ2000", *lines]))
    arguments = ["--region", "box:0,-20,360,90", "--sky", "icrs", "--mark", "Sgr A*=266.417,-29.008"]
    done = good(
        "fit",
        "clusters.csv",
        *arguments,
        "--plot",
        "sky.png",
        "--report",
        "sky.html",
        "--save",
        "sky.json",
        cwd=tmp_path,
    )
    assert "RA, Dec" in done.stdout
    assert "km" not in done.stdout
    assert (tmp_path / "sky.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "sky.html").read_text()
    assert "Sgr A*: 1." in page
    assert "right ascension" in page or "RA 266" in page
    again = good("show", "sky.json", "--report", "again.html", "--mark", "Sgr A*=266.417,-29.008", cwd=tmp_path)
    assert again.stdout == done.stdout
    traces = [
        re.search(r'id="data">(.*?)</script>', text, flags=re.DOTALL)[1]
        for text in (page, (tmp_path / "again.html").read_text())
    ]
    assert traces[0] == traces[1]
    # In galactic coordinates the same points have the same estimate, and no border: 20° is no circle there.
    other = good("fit", "clusters.csv", "--region", "everywhere", "--sky", "galactic", "--json", cwd=tmp_path)
    same = good("fit", "clusters.csv", "--region", "everywhere", "--sky", "icrs", "--json", cwd=tmp_path)
    assert estimate(other) == pytest.approx(estimate(same), rel=1e-9)
    assert "right ascension and declination, which were turned into galactic longitude" in other.stderr


@pytest.mark.slow
def test_help_is_there_at_once():
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}

    def seconds(code):
        """Of computing: on a busy machine the clock says more of the others than of this."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    pairs = [(seconds("from tmsm.cli import main; main(['--help'])"), seconds("import numpy")) for _ in range(5)]
    ours, numpy = map(min, zip(*pairs, strict=True))
    assert ours < 5.0 * numpy
