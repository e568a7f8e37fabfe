"""Which features and rows are meant: the filter's own language, files of polygons, borders that are put together."""

import json
import re

import numpy as np
import pytest

import tmsm
from tmsm.cli.borders import border_files, parse_border
from tmsm.cli.inputs import read_region
from tmsm.foundation.filters import Filter

ROW = {"ADMIN": "Nepal", "mag": "10.5", "depth": 70, "a name": "O'Brien", "zip": "02134", "open": True, "gone": None}

TRUE = [
    'ADMIN = "Nepal"',
    "admin == 'Nepal'",
    "mag > 9",  # as numbers: as text it would not be
    "mag > '9'",
    "5 <= mag and mag <= 10.5",
    "depth < 70.5 or ADMIN = 'x'",
    "not depth < 70",
    "not not depth = 7e1",
    "depth = '70'",
    "[a name] = 'O''Brien'",
    '[A NAME] = "O\'Brien"',
    "ADMIN in ('Chad', 'Nepal',)",
    'ADMIN not in ("Chad")',
    "depth in (60, 70)",
    "zip = '02134' and zip = 2134 and zip != '2134'",
    "open = true and open != false",
    "gone = null and gone != 'x' and ADMIN != null",
    "(ADMIN = 'x' or mag > 5) and depth >= 70",
    "ADMIN = 'x' or mag > 5 and depth >= 70",
    "ADMIN > 'Na' and ADMIN < 'No'",
    "mag != depth",
]
FALSE = [
    "ADMIN = 'nepal'",
    "ADMIN < 5",
    "ADMIN >= 5",
    "gone < 5",
    "not gone = null",
    "open = 'no'",
    "(ADMIN = 'x' or mag > 5) and depth > 70",
    "zip = '2134'",
]


@pytest.mark.parametrize("text", TRUE)
def test_what_matches(text):
    assert Filter.parse(text).matches(ROW) is True


@pytest.mark.parametrize("text", FALSE)
def test_what_does_not(text):
    assert Filter.parse(text).matches(ROW) is False


def test_other_kinds_of_values():
    import pandas as pd

    assert Filter.parse("n >= 5").matches({"n": np.float32(5.5)})
    assert Filter.parse("n = true").matches({"n": np.True_})
    for nothing in (float("nan"), pd.NA, pd.NaT, "", " "):
        assert Filter.parse("n = null").matches({"n": nothing})
        assert not Filter.parse("n > 0").matches({"n": nothing})
    assert Filter.parse("name:en = 'x' and b.c = 1").columns == ("name:en", "b.c")
    assert not Filter.parse("n = 'a'").matches({"n": ["a"]})
    assert Filter.parse("N = 1").matches({"n": 2, "N": 1})


SYNTAX = {
    "": "The filter '' cannot be read at its end: a column, a number or a text in quotes is wanted.",
    "mag": "at its end: a comparison is wanted: = != < <= > >= in.",
    "mag >= and x": "The filter 'mag >= and x' cannot be read at character 8, before 'and x': a column, a number",
    "mag = 'x": 'at character 7, before "\'x": the quote has no end.',
    "(mag = 1": "at its end: ')' is wanted.",
    "mag = 1)": "at character 8, before ')': 'and', 'or' or the end is wanted.",
    "mag = 1 & x = 2": "at character 9, before '& x = 2': this is no part of a filter.",
    "mag not 5": "at character 9, before '5': 'in' is wanted.",
    "mag in 5": "at character 8, before '5': '(' is wanted.",
    "1 < mag < 5": "at character 9, before '< 5': 'and', 'or' or the end is wanted.",
    "[ ] = 1": "at character 1, before '[ ] = 1': the name in the brackets is empty.",
    "(" * 60 + "a = 1": "there are more than 50 nested parentheses.",
    "__import__('os')": "at character 11, before \"('os')\": a comparison is wanted",
}


@pytest.mark.parametrize("text", SYNTAX)
def test_syntax_errors_say_where(text):
    with pytest.raises(ValueError, match="A filter is written like mag >= 5 and place = 'Nepal'") as error:
        Filter.parse(text)
    assert SYNTAX[text] in str(error.value)


def test_what_a_filter_says_of_a_table():
    with pytest.raises(TypeError, match="A filter is a text such as 'mag >= 5'; got int"):
        Filter.parse(5)
    with pytest.raises(
        ValueError, match=r"The row has no column 'ADMN' for the filter 'ADMN = 1'; it has 'ADMIN', 'mag'"
    ) as error:
        Filter.parse("ADMN = 1").matches({"ADMIN": 1, "mag": 2})
    assert str(error.value).endswith("Did you mean 'ADMIN'?")
    with pytest.raises(ValueError, match="If it is a text, put it in quotes: 'Nepal'"):
        Filter.parse("ADMIN = Nepal").matches({"ADMIN": "x"})
    with pytest.raises(ValueError, match="has several columns 'MAG' in different cases, 'mag', 'Mag'"):
        Filter.parse("MAG = 1").matches({"mag": 1, "Mag": 2})
    with pytest.raises(
        ValueError, match=r"matches none of the 7 rows of t\.csv. 'a' has values such as 1, 2, 3, 4, 5, …\."
    ):
        Filter.parse("a > 7").select({"a": [1, 2, 3, 4, 5, 6, 7]}, 7, "t.csv")
    with pytest.raises(ValueError, match=r"'a' has no values there\."):
        Filter.parse("a > 7").select({"a": [None]}, 1, "t.csv")
    assert Filter.parse("1 = 1").select({}, 3, "t.csv").tolist() == [True] * 3


# Files.


def square(name, west, **properties):
    ring = [[west, 0], [west + 10, 0], [west + 10, 10], [west, 10], [west, 0]]
    return {
        "type": "Feature",
        "properties": {"NAME": name, **properties},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Squares A, B and C, fifty degrees apart, as GeoJSON, GeoPackage and shapefile; C has no population."""
    import geopandas

    features = [square("A", 0, pop=5), square("B", 50, pop=50), square("C", 100)]
    (tmp_path / "world.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    frame = geopandas.GeoDataFrame.from_features(features, crs=4326)
    frame.to_file(tmp_path / "world.gpkg")
    frame.to_file(tmp_path / "world.shp")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names_of(region):
    return "".join(np.array(["A", "B", "C"])[region.contains(tmsm.lonlat_to_xyz([5, 55, 105], [5, 5, 5]))])


@pytest.mark.parametrize("file", ["world.geojson", "world.gpkg", "world.shp"])
def test_features_of_a_file(file, world):
    read = tmsm.SphericalPolygon.from_file
    assert names_of(read(file)) == "ABC"
    assert names_of(read(world / file, "name = 'B'")) == "B"
    assert names_of(read(file, where=Filter.parse("pop > 10 or NAME in ('A')"))) == "AB"
    assert names_of(read(file, "pop = null")) == "C"
    with pytest.raises(
        ValueError, match=rf"{file} has no column 'NAM' .* it has 'NAME', 'pop'\. Did you mean 'NAME'\?"
    ):
        read(file, "NAM = 'B'")
    with pytest.raises(
        ValueError, match=rf"none of the 3 features of {file}\. 'NAME' has values such as 'A', 'B', 'C'\."
    ):
        read(file, "NAME = 'b'")


def test_kept_point_inside_is_that_of_the_whole(world):
    content = json.loads((world / "world.geojson").read_text())
    (world / "inside.geojson").write_text(json.dumps({**content, "inside": [5.0, 5.0]}))
    assert names_of(tmsm.SphericalPolygon.from_file("inside.geojson", "NAME = 'B'")) == "B"
    rest = tmsm.SphericalPolygon.from_file(
        "inside.geojson", "NAME = 'B'", inside=tmsm.lonlat_to_xyz(5, 5), edges="geodesic"
    )
    assert names_of(rest) == "AC"


def test_wkt_files(world):
    read = tmsm.SphericalPolygon.from_file
    polygon = "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))"
    other = "MULTIPOLYGON (((50 0, 60 0, 60 10, 50 10, 50 0)))"
    for text, names in (
        (polygon, "A"),
        (f"\ufeffSRID=4326;{polygon}\n", "A"),
        (f"GEOMETRYCOLLECTION ({polygon},\n {other})", "AB"),
        (f"{polygon}\n\n{other}\n", "AB"),
        (polygon.replace("(0 0,", "(0 0 7,").replace("10 0,", "10 0 7,"), None),
    ):
        (world / "a.wkt").write_text(text, encoding="utf-8")
        if names is not None:
            assert names_of(read("a.wkt")) == names
    bad = {
        "POLYGON ((": r"a\.wkt is no WKT",
        "": r"a\.wkt is empty",
        "POINT (1 2)": "A region is made of Polygon and MultiPolygon",
        "POLYGON EMPTY": "There is no polygon in it",
        f"SRID=3857;{polygon}": r"a\.wkt is in the coordinate reference system 3857; longitude and latitude in degrees",
    }
    for text, message in bad.items():
        (world / "a.wkt").write_text(text)
        with pytest.raises(ValueError, match=message):
            read("a.wkt")
    (world / "a.wkt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="it is not text in UTF-8"):
        read("a.wkt")
    with pytest.raises(ValueError, match=r"a\.wkt is WKT, which has no properties: the filter 'x = 1' cannot be used"):
        read("a.wkt", "x = 1")


def test_files_that_are_none(world):
    read = tmsm.SphericalPolygon.from_file
    with pytest.raises(TypeError, match="from_file takes the path of a file; got dict"):
        read({})
    with pytest.raises(ValueError, match=r"There is no file 'absent\.json'"):
        read("absent.json")
    with pytest.raises(ValueError, match="is a folder; give the file that holds the border"):
        read(world)
    (world / "plain.json").write_text(json.dumps(square("A", 0)["geometry"]))
    with pytest.raises(ValueError, match=r"plain\.json has no features with properties, as a FeatureCollection has"):
        read("plain.json", "NAME = 'A'")
    (world / "odd.json").write_text(
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": [1]}]}'
    )
    with pytest.raises(ValueError, match=r"The 'properties' of a feature of odd\.json are no object"):
        read("odd.json", "NAME = 'A'")
    (world / "null.json").write_text('{"type": "FeatureCollection", "features": null}')
    with pytest.raises(ValueError, match="The 'features' of a FeatureCollection must be a list; got None"):
        read("null.json", "NAME = 'A'")
    (world / "bad.gpkg").write_text("x")
    with pytest.raises(ValueError, match=r"bad\.gpkg cannot be read"):
        read("bad.gpkg")


# Borders of several parts.


def test_borders_that_are_put_together(world):
    for text, names in (
        ("world.geojson", "ABC"),
        ("world.geojson[NAME = 'A']", "A"),
        ("world.geojson[NAME = 'A'] | world.gpkg[[pop] > 10]", "AB"),
        ("world.geojson - world.gpkg[NAME = 'A - B' or pop > 10]", "AC"),
        ("world.geojson & box:-5,-5,70,20 - cap:5,5,9", "B"),
        ("everywhere - world.geojson[NAME != 'B']", "B"),
        ("cap:5,5,2 | cap:105,5,2", "AC"),
        ("everywhere & world.shp", "ABC"),
    ):
        assert names_of(read_region(text)) == names, text
    assert names_of(read_region("world.geojson & box:-5,-5,70,20", "NAME = 'B'")) == "B"


def test_names_of_files_with_signs_and_brackets(world):
    content = (world / "world.geojson").read_text()
    for name in ("A - B.geojson", "a[1].geojson", "Côte d'Ivoire & co.geojson"):
        (world / name).write_text(content)
        assert names_of(read_region(name)) == "ABC"
        assert names_of(read_region(name, "NAME = 'C'")) == "C"
        assert names_of(read_region(f"{name}[NAME = 'C' or NAME = ']']")) == "C"
        assert names_of(read_region(f"cap:5,5,2 | {name}[NAME = 'C']")) == "AC"
        assert [path.name for path in border_files(f"usa - {name} | world.shp")] == [name, "world.shp"]


REFUSED = {
    ("world.geojson & world.gpkg", "NAME = 'A'"): "--where is for one file, and the border has 2: 'world.geojson', "
    "'world.gpkg'. Give each its own filter in brackets: FILE[FILTER].",
    ("world.geojson[pop = 5]", "NAME = 'A'"): "'world.geojson' has a filter in its brackets, and --where is another",
    (
        "usa - cap:0,0,5",
        "NAME = 'A'",
    ): "--where is for a file with polygons, and the border 'usa - cap:0,0,5' has none.",
    ("usa", "NAME = 'A'"): "usa has no properties to filter by: a filter is for a file with polygons.",
    ("cap:0,0,5[x = 1] | usa", None): "cap:0,0,5 has no properties to filter by",
    ("world.geojson[NAME = 'A'", None): "must end with a bracket: FILE[FILTER].",
    ("absent.json[NAME = 'A']", None): "There is no file 'absent.json'.",
    ("usa&everywhere", None): "There is no file 'usa&everywhere'.",
    ("usa & ", None): "The border 'usa & ' has a sign with nothing beside it.",
    ("world.geojson - world.gpkg", None): "leaves nothing: before and after '-' is the same.",
    ("world.geojson & cap:-90,0,5", None): "leaves nothing: its parts lie apart.",
    ("world.geojson[NAME = 'A'] & world.geojson[NAME = 'B']", None): "leaves nothing: its parts lie apart.",
    ("usa - everywhere", None): "The complement of Everywhere is empty",
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_borders_that_are_refused(case, world):
    with pytest.raises(ValueError, match=re.escape(REFUSED[case])):
        read_region(*case)


def test_blanks_are_said_to_be_wanted(world):
    with pytest.raises(ValueError, match=r"Write & \| - between borders with blanks round them"):
        read_region("usa&everywhere")


def test_small_regions_are_not_called_empty(world):
    assert read_region("cap:20,20,0.01 & cap:20.01,20,0.01").contains(tmsm.lonlat_to_xyz([20.005], [20.0])).all()
    assert parse_border("cap:20,20,0.01 - usa")[1].sign == "-"
