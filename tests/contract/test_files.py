"""Odd places and odd files: where nothing can be cached, what may be written over, files that are not what they say."""

import errno
import io
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tmsm
from tmsm.cli import main
from tmsm.cli.outputs import check_outputs
from tmsm.cli.streams import emit
from tmsm.display.record import FitRecord
from tmsm.foundation.errors import TmsmError
from tmsm.foundation.whole_files import is_standard_output, place_of, write_text

BOX = [[-100, 25], [-75, 25], [-75, 48], [-100, 48], [-100, 25]]
BORDER = {"type": "Polygon", "coordinates": [BOX]}
SIMULATE = ["simulate", "3", "--mean=-90,38", "--concentration", "6", "--region"]
ESCAPE = "\x1b[31m"
MANY = "lon,lat\n" + "".join(f"{-97 + 0.1 * k},{39 + 0.05 * (k % 7)}\n" for k in range(60))


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "border.geojson").write_text(json.dumps(BORDER))
    (tmp_path / "many.csv").write_text(MANY)
    return tmp_path


@pytest.fixture
def tmsm_command(capsys, monkeypatch):
    """The command, in this process: exit code, standard output and standard error."""
    monkeypatch.setattr("warnings.showwarning", None)  # put back afterwards

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return end.value.code, *capsys.readouterr()

    return run


def check_refused(done, message):
    code, out, errors = done
    assert code == 2, out + errors
    assert errors.startswith("tmsm: ")
    assert len(errors.splitlines()) == 1, errors
    assert message in errors
    assert "\x1b" not in out + errors


def run_process(*arguments, **options):
    command = [sys.executable, "-c", "from tmsm.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


# Compiled functions.


@pytest.mark.slow
def test_polygons_where_nothing_can_be_cached(tmp_path):
    package = Path(tmsm.__file__).parent
    shutil.copytree(package, tmp_path / "tmsm", ignore=shutil.ignore_patterns("__pycache__"))
    # Plain files where the folders would have to be: nobody, not even the superuser, can write into them.
    compiled = {
        path.parent for path in package.rglob("*.py") if re.search(r"^@compiled", path.read_text(), re.MULTILINE)
    }
    assert compiled
    for folder in compiled:
        (tmp_path / "tmsm" / folder.relative_to(package) / "__pycache__").touch()
    (tmp_path / "home").touch()
    code = "import tmsm, tmsm.regions.polygon.trees as trees; print(tmsm.__file__, trees._gap.py_func.__name__, "
    code += "tmsm.Polygon([[0, 0], [1, 0], [0, 1]]).contains([[0.1, 0.1], [1.0, 1.0]]).tolist())"
    places = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "LOCALAPPDATA")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **places, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("_gap [True, False]\n"), done.stderr
    assert done.stdout.startswith(str(tmp_path))


@pytest.mark.parametrize("full", [False, True], ids=["a place", "a full disk"])
def test_compiled_functions_are_cached_where_it_can_be(full, tmp_path, monkeypatch):
    import numba
    from numba.core.caching import FunctionCache

    from tmsm.foundation.compiled import compiled

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    if full:
        monkeypatch.setattr(FunctionCache, "_save_overload", fail)
    twice = compiled()(_twice)
    assert twice(2.0) == 4.0
    assert bool(list(tmp_path.rglob("*.nbi"))) is not full
    again = compiled()(_twice)
    assert again(2.0) == 4.0
    assert sum(again.stats.cache_hits.values()) == (0 if full else 1)


def _twice(x):
    return 2.0 * x


# Outputs.

REFUSED_OUTPUTS = {
    "the border itself": (
        [*SIMULATE, "border.geojson", "--out", "border.geojson"],
        "would overwrite a file that is read",
    ),
    "through a link": ([*SIMULATE, "border.geojson", "--out", "link.geojson"], "would overwrite a file that is read"),
    "under another name": ([*SIMULATE, "link.geojson", "--out", "hard.geojson"], "would overwrite a file that is read"),
    "the points": (["fit", "many.csv", "--region", "usa", "--report", "points.csv"], "would overwrite"),
    "a picture of the points": (
        ["region", "border.png", "--plot", "border.png"],
        "would overwrite a file that is read",
    ),
    "a part of a shapefile": ([*SIMULATE, "coast.shp", "--out", "coast.dbf"], "would overwrite a file that is read"),
    "one file under two names": (
        ["fit", "many.csv", "--region", "usa", "--save", "out.json", "--report", "other.json"],
        "--save and --report are one file",
    ),
    "both on standard output": (
        ["fit", "many.csv", "--region", "usa", "--json", "--save", "-"],
        "--json and --save both go to standard output",
    ),
    "a pipe": ([*SIMULATE, "usa", "--out", "pipe"], "it is a pipe or a device, not a plain file"),
    "a socket": ([*SIMULATE, "usa", "--out", "socket"], "it is a pipe or a device, not a plain file"),
    "a folder": ([*SIMULATE, "usa", "--out", "folder"], "it is a folder. Give the name of a file"),
    "links in a circle": (
        [*SIMULATE, "usa", "--out", "circle"],
        "cannot be written: Too many levels of symbolic links",
    ),
    "a file for a folder": ([*SIMULATE, "usa", "--out", "many.csv/a.csv"], "cannot be written: Not a directory"),
    "too long a name": ([*SIMULATE, "usa", "--out", "a" * 300], "File name too long"),
}


@pytest.mark.parametrize("name", REFUSED_OUTPUTS)
def test_outputs_that_are_refused(name, folder, tmsm_command):
    (folder / "link.geojson").symlink_to("border.geojson")
    (folder / "points.csv").symlink_to("many.csv")
    (folder / "hard.geojson").hardlink_to(folder / "border.geojson")
    for file in ("border.png", "coast.shp", "coast.dbf", "out.json"):
        (folder / file).write_text("as it was")
    (folder / "other.json").symlink_to("out.json")
    (folder / "circle").symlink_to("circle")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind("socket")

    def content():
        return {path.name: (path.lstat().st_mode, path.is_file() and path.read_bytes()) for path in folder.iterdir()}

    before = content()
    check_refused(tmsm_command(*REFUSED_OUTPUTS[name][0]), REFUSED_OUTPUTS[name][1])
    assert content() == before


def test_devices_are_no_files_and_standard_output_is_known():
    # Only asked for, never written: a test that fails must not replace a device of the machine.
    with pytest.raises(ValueError, match="it is a pipe or a device, not a plain file"):
        place_of(Path(os.devnull))
    with pytest.raises(ValueError, match="it is a pipe or a device, not a plain file"):
        check_outputs([], {"--out": Path(os.devnull)})
    assert all(map(is_standard_output, map(Path, ("-", "/dev/stdout", "/dev/fd/1"))))
    assert not any(map(is_standard_output, map(Path, (os.devnull, "/dev/stderr", "stdout", "a/-"))))
    check_outputs([], {"--out": Path("/dev/stdout")})


def test_what_is_protected_is_refused(folder, tmsm_command, monkeypatch):
    (folder / "mine.csv").write_text("as it was")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "mine.csv" and allowed(path, mode))
    check_refused(tmsm_command(*SIMULATE, "usa", "--out", "mine.csv"), "the file is protected against writing")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    check_refused(tmsm_command(*SIMULATE, "usa", "--out", "new.csv"), "is read-only")
    assert (folder / "mine.csv").read_text() == "as it was"


def test_links_are_written_through_and_modes_kept(folder, tmsm_command):
    (folder / "out.csv").write_text("old")
    (folder / "out.csv").chmod(0o640)
    (folder / "link.csv").symlink_to("out.csv")
    (folder / "to come.csv").symlink_to("new/place.csv")
    for name in ("link.csv", "to come.csv", "plain.csv"):
        assert tmsm_command(*SIMULATE, "border.geojson", "--out", name)[0] == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "to come.csv").is_symlink()
    assert stat.S_IMODE((folder / "out.csv").stat().st_mode) == 0o640
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((folder / "plain.csv").stat().st_mode) == 0o666 & ~umask
    wanted = (folder / "plain.csv").read_text()
    assert wanted.startswith("lon,lat\n")
    assert (folder / "out.csv").read_text() == (folder / "new" / "place.csv").read_text() == wanted
    names = {"border.geojson", "link.csv", "many.csv", "new", "out.csv", "plain.csv", "to come.csv"}
    assert {path.name for path in folder.iterdir()} == names


def test_standard_output_as_a_file(folder, tmsm_command, capsys):
    wanted = tmsm_command(*SIMULATE, "border.geojson")
    assert tmsm_command(*SIMULATE, "border.geojson", "--out", "-") == wanted
    write_text(Path("-"), "a\x01\n")  # a page, say, for a program
    emit("a\x01")  # words for people
    assert capsys.readouterr().out == "a\x01\na\\x01\n"
    code, out, errors = tmsm_command("fit", "many.csv", "--region", "border.geojson", "--save", "-")
    assert code == 0
    assert json.loads(out)["format"] == "tmsm fit"
    assert errors.startswith("ScoreMatching: VonMisesFisher")  # the table, beside the result
    assert sorted(path.name for path in folder.iterdir()) == ["border.geojson", "many.csv"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A fit with errors, groups and Greek letters, as a document."""
    region = tmsm.SphericalPolygon.from_geojson(BORDER)
    truth = {"mean_direction": tmsm.lonlat_to_xyz(-85.0, 35.0), "concentration": 60.0}
    X = tmsm.VonMisesFisher().sample(200, region, random_state=0, **truth)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), region).fit(X, groups=np.arange(200) // 2)
    path = tmp_path_factory.mktemp("saved") / "fit.json"
    fit.save(path)
    assert "χ" in path.read_text(encoding="utf-8")
    return path


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "JSON"])
def test_characters_that_an_encoding_lacks_are_spelled_out(saved, encoding, options, tmsm_command, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    assert tmsm_command("show", saved, *options)[::2] == (0, "")
    text = written.getvalue().decode(encoding)
    if options:
        document = json.loads(saved.read_text(encoding="utf-8"))
        del document["fit"]  # rows are not for people to read
        assert json.loads(text) == document
    else:
        words = {
            "cp1252": ("-----", "chi² =", "±"),
            "ascii": ("-----", "chi^2 =", "+/-"),
            "utf-8": ("─────", "χ² =", "±"),
        }
        for word in words[encoding]:
            assert word in text


def test_help_and_tables_where_there_are_no_greek_letters():
    done = run_process("simulate", "--help", env={**os.environ, "PYTHONIOENCODING": "cp1252"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Concentration kappa" in done.stdout


def test_a_reader_who_leaves_early_is_no_failure(folder, saved):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from tmsm.cli import main; main()", "fit", "many.csv", "--region"]
    command += ["border.geojson", "--save", "fit.json"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"Saved: fit.json\n")
    assert FitRecord.load(folder / "fit.json").content["n_samples"] == 60


# Files of others.


def with_member(**members):
    return json.dumps({**BORDER, **members})


def crs(name):
    return {"type": "name", "properties": {"name": name}}


def polygon_text(coordinates):
    return f'{{"type": "Polygon", "coordinates": {coordinates}}}'


ODD_BORDERS = {
    "features: null": ('{"type": "FeatureCollection", "features": null}', "The 'features' of a FeatureCollection must"),
    "[null]": ("[null]", "is JSON but no GeoJSON object"),
    "features: [null]": ('{"type": "FeatureCollection", "features": [null]}', "got None"),
    "coordinates: null": (polygon_text("null"), "The 'coordinates' of a Polygon must be a list; got None"),
    "coordinates: [null]": (polygon_text("[null]"), "Ring 0 must be a list of [longitude, latitude] pairs"),
    "multipolygon": ('{"type": "MultiPolygon", "coordinates": [null]}', "A polygon must be a list of rings; got None"),
    "geometry: x": ('{"type": "Feature", "geometry": "x"}', "got 'x'"),
    "type: []": ('{"type": []}', "got []"),
    "deep": (f'{{"type": {nested(100_000)}}}', "its brackets are nested too deep"),
    "deep coordinates": (polygon_text(nested(400)), "A ring must hold real numbers"),
    "digits": (polygon_text(f"[[[{'9' * 5000}, 1]]]"), "a whole number of thousands of digits"),
    "large": (polygon_text(f"[[[{'9' * 400}, 1]]]"), "A ring must hold real numbers"),
    "text": (polygon_text('[[["-1_0_0.5", 25, null], [-75, 25, null], [-75, 48, null]]]'), "must hold real numbers"),
    "inside: 3": (with_member(inside=3), "The member 'inside' of the GeoJSON must be [longitude, latitude]; got 3"),
    "inside: text": (with_member(inside=["a", None]), "The member 'inside' of the GeoJSON must hold real numbers"),
    "inside: [0, 95]": (with_member(inside=[0, 95]), "The member 'inside' of the GeoJSON: lat must be within ±90"),
    "metres": (with_member(crs=crs("urn:ogc:def:crs:EPSG::3857")), "EPSG::3857'; longitude and latitude in degrees"),
    "odd crs": (with_member(crs=[ESCAPE]), "ogr2ogr -t_srs EPSG:4326"),
    "latin-1": (with_member(name="é").encode("latin-1").replace(b"\\u00e9", b"\xe9"), "is not text in UTF-8"),
    "NUL": (b"\0\0", "is not JSON: Expecting value: line 1 column 1"),
    "empty": ("", "is empty"),
    "blank": ("\n", "is not JSON"),
    "200 degrees": (
        polygon_text("[[[-100, -10], [100, -10], [100, 10], [-100, 10], [-100, -10]]]"),
        "edge of 200° of longitude, from vertex 0 at -100 to 100, and it can be read in two ways. For the 200° between "
        "them put vertices in between, such as 0. For the 160° across the antimeridian write -260 for 100",
    ),
}


@pytest.mark.parametrize("name", ODD_BORDERS)
def test_odd_borders_are_one_line(name, folder, tmsm_command):
    content, message = ODD_BORDERS[name]
    (folder / "odd.geojson").write_bytes(content if isinstance(content, bytes) else content.encode())
    check_refused(tmsm_command("region", "odd.geojson"), message)


@pytest.mark.parametrize("depth", [300, 100_000], ids=["read", "refused"])
def test_collections_in_collections(depth):
    text = '{"type": "GeometryCollection", "geometries": [' * depth + json.dumps(BORDER) + "]}" * depth
    if depth == 300:
        assert len(tmsm.SphericalPolygon.from_geojson(text).rings) == 1
    else:
        with pytest.raises(ValueError, match="its brackets are nested too deep"):
            tmsm.SphericalPolygon.from_geojson(text)


def test_marks_encodings_and_names_of_degrees(folder):
    from tmsm.data.point_files import read_points

    wanted = tmsm.SphericalPolygon.from_geojson(BORDER)
    assert tmsm.SphericalPolygon.from_geojson("\ufeff" + json.dumps(BORDER)) == wanted
    names = ["urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326", "urn:ogc:def:crs:EPSG::4326", "WGS84"]
    for crs_member in (*map(crs, names), {"type": "EPSG", "properties": {"code": 4326}}, None):
        assert tmsm.SphericalPolygon.from_geojson({**BORDER, "crs": crs_member}) == wanted
    point = {"type": "Point", "coordinates": [-90, 35]}
    for encoding in ("utf-8-sig", "utf-16"):
        (folder / "a.geojson").write_bytes(json.dumps(BORDER).encode(encoding))
        assert tmsm.SphericalPolygon.from_geojson("a.geojson") == wanted
        (folder / "p.geojson").write_bytes(json.dumps(point).encode(encoding))
        assert read_points("p.geojson").longitude.tolist() == [-90.0]
    (folder / "p.geojson").write_text(json.dumps({**point, "crs": crs("EPSG:2154")}))
    with pytest.raises(ValueError, match="is in the coordinate reference system 'EPSG:2154'"):
        read_points("p.geojson")


ODD_POINTS = {
    "underscores": (b"lon,lat\n-1_0_0.5,40\n", "line 2: the longitude '-1_0_0.5' is no number"),
    "other digits": ("lon,lat\n-90,٤٠\n".encode(), "line 2: the latitude '٤٠' is no number"),
    "escape in a name": (f"lon,{ESCAPE}lat\n1,2\n".encode(), r"it has 'lon', '\x1b[31mlat'"),
    "escape in a cell": (f"lon,lat\n1,{ESCAPE}2\n".encode(), r"the latitude '\x1b[31m2' is no number"),
    "NUL in a cell": (b"lon,lat\n1,2\x00\n", r"the latitude '2\x00' is no number"),
    "a huge cell": (b"lon,lat,note\n1,2," + b"a" * 200_000, "cannot be read: field larger than field limit"),
}


@pytest.mark.parametrize("name", ODD_POINTS)
def test_odd_points_are_one_line(name, folder, tmsm_command):
    content, message = ODD_POINTS[name]
    (folder / "odd.csv").write_bytes(content)
    check_refused(tmsm_command("fit", "odd.csv", "--region", "usa"), message)


def test_latin_1_and_old_ends_of_lines_are_read(folder):
    from tmsm.data.point_files import read_points

    (folder / "old.csv").write_bytes(b"lon,lat,\xe9t\xe9\r-90,40,\xe9\r-91,41,\xe8\r")
    assert read_points("old.csv").longitude.tolist() == [-90.0, -91.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["region", "cap:-1_0_0.5,40,5"], "must be cap: and 3 numbers"),
        (["region", "box:-1_0_0.5,40,5,50"], "must be box: and 4 numbers"),
        (["fit", "many.csv", "--region", "usa", "--known", "concentration=1_0"], "must be NAME=NUMBER"),
        (["simulate", "1_0", "--region", "usa", "--mean=-90,40", "--concentration", "6"], "must be a whole number"),
        (["simulate", "10", "--region", "usa", "--mean=-90,40", "--concentration", "6_0"], "'6_0' is no number"),
        (["simulate", "10", "--region", "usa", "--mean=-9_0,40", "--concentration", "6"], "--mean must be LON,LAT"),
        (["reproduce", "errata", "--trials", "1_0"], "must be a whole number of at least 2"),
    ],
)
def test_numbers_with_underscores_are_none(arguments, message, folder, tmsm_command):
    check_refused(tmsm_command(*arguments), message)


def test_control_characters_never_reach_the_terminal(folder, saved, tmsm_command):
    name = f"{ESCAPE}\x9b1m\udcff.csv"
    check_refused(tmsm_command("fit", name, "--region", "usa"), "There is no file")
    (folder / os.fsdecode(os.fsencode(name))).write_text("")
    check_refused(tmsm_command("fit", name, "--region", "usa"), r"\x1b[31m\x9b1m")
    (folder / name).write_text(MANY)
    assert tmsm_command("fit", name, "--region", "border.geojson", "--save", "fit.json")[0] == 0
    document = json.loads(saved.read_text(encoding="utf-8"))
    document["title"] = document["table"][1][0] = document["facts"][0][1] = f"{ESCAPE}\x9b1m\x07\r\u202e"
    (folder / "hostile.json").write_text(json.dumps(document))
    for path in ("fit.json", "hostile.json"):
        for option in ([], ["--json"]):
            code, out, errors = tmsm_command("show", *option, path)
            assert (code, errors) == (0, "")
            assert not set(out) & {*map(chr, range(9)), *map(chr, range(11, 32)), *map(chr, range(127, 160)), "\u202e"}
            if option:
                content = json.loads(out)
    del document["fit"]
    assert content == document


# Saved fits.

DEEP = json.loads(nested(400))
TAMPERED = [None, True, -1, 1.5, "x", [], {}, [None], [[]], [["a", "b"], ["c"]], {"a": None}, [["a", 1]], DEEP, 10**400]
TAMPERED += [float("nan"), float("inf"), [float("nan")], {"a": DEEP}]
MAY_BE = {
    "title": ["x"],
    "estimates": [{}],
    "covariance": [None],
    "n_groups": [None],
    "determined": [True],
    "goodness_of_fit": [None],
    "made_by": [{}],
    "natural_params": [],
}


def test_every_tampered_field_of_a_saved_fit(saved, tmp_path):
    document = json.loads(saved.read_text(encoding="utf-8"))
    path = tmp_path / "tampered.json"
    for field in document:
        for value in TAMPERED:
            path.write_text(json.dumps({**document, field: value}))
            if value in MAY_BE.get(field, []):
                FitRecord.load(path).to_text()
                continue
            with pytest.raises(TmsmError, match=r"tampered\.json") as error:
                FitRecord.load(path)
            assert len(str(error.value)) < 200
    for field in ("estimates", "goodness_of_fit"):
        for name in document[field]:
            for value in TAMPERED[2:]:
                path.write_text(json.dumps({**document, field: {**document[field], name: value}}))
                if not isinstance(value, float | int) or field == "estimates" or not np.isfinite(float(min(value, 9))):
                    with pytest.raises(TmsmError, match=rf"damaged: {field} is not what tmsm writes"):
                        FitRecord.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "odd.json is empty"),
        ("[null]", "is JSON, but not a fit"),
        (nested(100_000), "nested too deep"),
        ("9" * 5000, "thousands of digits"),
        ('{"format": "tmsm fit", "version": true}', "has version True of the format"),
    ],
    ids=["empty", "list", "deep", "digits", "version"],
)
def test_what_is_no_saved_fit(text, message, folder, tmsm_command):
    (folder / "odd.json").write_text(text)
    check_refused(tmsm_command("show", "odd.json"), message)
    check_refused(tmsm_command("show", "."), "is a folder")
