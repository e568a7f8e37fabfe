"""The command tmsm map: its table, its files, its page in a real browser, and what it says about bad input."""

import csv
import json
import os
import warnings

import numpy as np
import pytest

import tmsm
from tests.contract.test_report import browser  # noqa: F401  (a fixture)
from tmsm.cli import main

CAP = tmsm.Cap(tmsm.lonlat_to_xyz(0.0, 50.0), np.radians(20.0))
REGION = ["--region", "cap:0,50,20"]
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(25.0, 45.0), "concentration": 40.0}


def write(path, X, **columns):
    lon, lat = tmsm.xyz_to_lonlat(X)
    rows = zip(lon, lat, *columns.values(), strict=True)
    lines = [",".join(str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([",".join(["lon", "lat", *columns]), *lines]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("maps")
    X = tmsm.VonMisesFisher().sample(600, CAP, random_state=0, **TRUTH)
    write(place / "points.csv", X, animal=np.arange(600) // 20)
    write(place / "few.csv", X[:40])
    write(place / "five.csv", X[:5])
    write(place / "spot.csv", np.repeat(X[:1], 50, axis=0))
    squares = [[[[w, 45], [w + 10, 45], [w + 10, 55], [w, 55], [w, 45]]] for w in (-15, 5)]
    shape = {"type": "MultiPolygon", "coordinates": squares}
    (place / "pieces.geojson").write_text(json.dumps(shape))
    return place


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """Runs the command in this process: its exit, what it printed, and what it said."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            main(arguments)
        printed = capsys.readouterr()
        return done.value.code, printed.out, printed.err

    return run


def test_a_map_with_its_files_and_page(command, folder):
    out = [arg for name in ("map.png", "map.tif", "map.geojson", "map.fits") for arg in ("--out", name)]
    code, printed, said = command("map", "points.csv", *REGION, *out, "--html", "map.html", "--share", "0.5")
    assert code == 0
    assert "DensityMap, 600 points" in printed
    assert "Smallest areas that hold a share of the mass" in printed
    assert "50 %" in printed
    assert "90 %" not in printed
    assert "Points that were held out" in printed
    for name in ("map.png", "map.tif", "map.geojson", "map.fits"):
        assert f"Map: {name}" in said
        assert (folder / name).stat().st_size > 500
    assert "Page: map.html" in said
    shares = json.loads((folder / "map.geojson").read_text())["features"]
    assert [one["properties"]["share"] for one in shares] == [0.5]


def test_the_geotiff_is_in_its_place_and_empty_outside(command, folder):
    import rasterio

    assert command("map", "points.csv", *REGION, "--method", "series", "--out", "density.tif", "--step", "1")[0] == 0
    with rasterio.open(folder / "density.tif") as file:
        bands, place = file.read(), file.transform
        assert file.crs.to_epsg() == 4326
        assert file.tags()["UNIT"] == "probability per square kilometre"
    fit = tmsm.DensityMap(CAP).fit(tmsm.table_to_xyz(read_table(folder / "points.csv")))
    for lon, lat in ((10.0, 45.0), (-12.0, 55.0)):
        column, row = int((lon - place.c) / place.a), int((lat - place.f) / place.e)
        centre = place.c + (column + 0.5) * place.a, place.f + (row + 0.5) * place.e
        expected = float(fit.predict(tmsm.lonlat_to_xyz([centre[0]], [centre[1]]))[0]) / 6371.0088**2
        density, low, high = bands[:, row, column]
        assert density == pytest.approx(expected, rel=1e-5)
        assert low < density < high
    assert np.isnan(bands[:, 0, 0]).all()


def read_table(path):
    import pandas as pd

    # By Python: some versions of pandas round the last digit, and the very numbers decide which rows a fold holds.
    with path.open() as lines:
        return pd.DataFrame(list(csv.DictReader(lines))).astype(float)


def test_files_of_one_name_in_two_folders_are_both_written(command, folder):
    out = ["--out", "first/map.png", "--out", "second/map.png"]
    assert command("map", "few.csv", *REGION, "--method", "kernel", *out)[0] == 0
    assert (folder / "first" / "map.png").exists()
    assert (folder / "second" / "map.png").exists()


def test_json_has_both_maps(command):
    code, printed, _ = command("map", "points.csv", *REGION, "--json")
    assert code == 0
    content = json.loads(printed)
    assert content["n_samples"] == 600
    assert content["map"] == max(content["held_out"], key=content["held_out"].get)
    assert content["area_steradians"] == pytest.approx(2.0 * np.pi * (1.0 - np.cos(np.radians(20.0))), rel=1e-3)
    half, most = content["regions"]
    assert (half["share"], most["share"]) == (0.5, 0.9)
    assert 0.0 < half["area_steradians"] < most["area_steradians"] < content["area_steradians"]


@pytest.mark.parametrize(("method", "name"), [("series", "DensityMap"), ("kernel", "AdaptiveKernel")])
def test_a_method_that_is_asked_for_is_taken(command, method, name):
    code, printed, _ = command("map", "points.csv", *REGION, "--method", method, "--groups", "animal")
    assert code == 0
    assert f"{name}, 600 points" in printed
    assert "Points that were held out" not in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("points.csv", "--out", "map.xyz"), "map.xyz"),
        (("points.csv", "--html", "map.png"), "--html 'map.png' must end in"),
        (("points.csv", "--share", "50"), "--share 50 must be between 0 and 1, such as 0.5 for 50 %."),
        (("points.csv", "--method", "smooth"), "--method='smooth' is not an option. Choose one of"),
        (("points.csv", "--degree", "100"), "degree must be 40 at most; got 100."),
        (("points.csv", "--smoothing", "-1"), "smoothing must be"),
        (("points.csv", "--smoothing", "1e-20"), "does not converge"),
        (("points.csv", "--out", "a.png", "--out", "./a.png"), "--out a.png stands there twice"),
        (
            ("points.csv", "--step", "1", "--out", "a.png"),
            "--step is for a GeoTIFF: add --out FILE.tif, or leave --step",
        ),
        (("points.csv", "--nside", "8"), "--nside is for a HEALPix map: add --out FILE.fits"),
        (("points.csv", "--error", "--html", "a.html"), "--error is for pictures"),
        (("points.csv", "--points"), "--points is for pictures"),
        (("points.csv", "--mark", "a=0,50"), "--mark is for pictures and pages"),
        (("points.csv", "--step", "0", "--out", "a.tif"), "--step must be finite and greater than 0; got 0."),
        (("points.csv", "--step", "1e-7", "--out", "a.png", "--out", "a.tif"), "--step 1e-07 makes"),
        (("points.csv", "--step", "300", "--out", "a.tif"), "No pixel of --step 300 has its centre inside the region"),
        (
            ("points.csv", "--nside", "1", "--out", "a.fits"),
            "pixels of --nside 1 has its centre inside the region. Take",
        ),
        (
            ("points.csv", "--sky", "icrs", "--columns", "lon,lat", "--out", "a.tif"),
            "write a map of the sky as HEALPix",
        ),
        (("points.csv", "--method", "kernel", "--degree", "5"), "--degree and --smoothing are for the smooth map"),
        (("five.csv", "--method", "series"), "5 different places are too few for a map"),
        (("spot.csv", "--method", "series"), "All 50 rows are the same point: there is no density to map."),
        (("spot.csv",), "All 50 rows are the same point"),
    ],
)
def test_bad_input_has_one_sentence_and_writes_nothing(command, folder, arguments, words):
    before = sorted(os.listdir(folder))
    code, printed, said = command("map", *arguments, *REGION)
    assert code == 2
    assert printed == ""
    assert words in said.replace("\n", " ").replace("  ", " ")
    assert "Traceback" not in said
    assert sorted(os.listdir(folder)) == before


def test_few_points_lower_the_degree_and_that_is_said(command):
    code, printed, _ = command("map", "few.csv", *REGION, "--method", "series", "--degree", "12")
    assert code == 0
    assert "The degree is 3, not 12: 40 different places are too few for more." in " ".join(printed.split())


def test_a_piece_without_points_is_named(command):
    east = ["--points-where", "lon > 0"]
    code, printed, _ = command(
        "map", "points.csv", "--region", "pieces.geojson", "--outside", "drop", "--method", "series", *east
    )
    assert code == 0
    assert "no rows" in printed or "no points" in printed


def test_the_page_works_in_a_browser(command, folder, browser):  # noqa: F811
    from selenium.webdriver.support.ui import WebDriverWait

    assert command("map", "points.csv", *REGION, "--html", "page.html", "--mark", "a place=5,48")[0] == 0
    browser.get_log("browser")
    browser.get((folder / "page.html").as_uri())
    WebDriverWait(browser, 60).until(lambda b: b.execute_script("return document.body.dataset.drawn") == "yes")
    values = "return document.getElementById('map').data[0].z.flat().filter((v) => v !== null)"
    first = np.array(browser.execute_script(values))
    assert first.size > 1000
    about = browser.execute_script("return document.getElementById('about').textContent")
    assert "the best one for points that were held out" in about
    # The slider at its smooth end shows a flatter map; one button brings the chosen one back.
    move = (
        "const s = document.getElementById('smoothing'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));"
    )
    browser.execute_script(move, 0)
    smooth = np.array(browser.execute_script(values))
    assert smooth.shape == first.shape
    assert np.abs(smooth - first).max() > 1e-3
    assert "belongs to the chosen smoothing alone" in browser.execute_script(
        "return document.getElementById('about').textContent"
    )
    browser.execute_script("document.getElementById('back').click()")
    assert np.array_equal(np.array(browser.execute_script(values)), first)
    # Nothing outside is coloured, and the kernels stand beside the smooth map.
    everything = browser.execute_script("return document.getElementById('map').data[0].z.flat().length")
    assert first.size < 0.9 * everything
    assert browser.execute_script("return document.getElementById('second').hidden") is False
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


def test_the_page_is_about_kernels_where_these_are_chosen(command, folder, browser):  # noqa: F811
    from selenium.webdriver.support.ui import WebDriverWait

    rng = np.random.default_rng(0)
    centres = tmsm.lonlat_to_xyz([-15.0, -5.0, 4.0, 12.0], [45.0, 58.0, 42.0, 52.0])
    X = np.vstack([centres + 0.003 * rng.standard_normal((4, 3)) for _ in range(15)])
    write(folder / "spots.csv", X / np.linalg.norm(X, axis=1)[:, None])
    sky = ["--sky", "icrs", "--columns", "lon,lat", "--bad", "skip"]
    table = (folder / "spots.csv").read_text().splitlines()
    turned = [table[0], *(f"{float(row.split(',')[0]) % 360.0},{row.split(',')[1]}" for row in table[1:])]
    (folder / "spots.csv").write_text("\n".join(turned) + "\n")
    code, printed, _ = command("map", "spots.csv", *REGION, *sky, "--html", "spots.html", "--share", "0.8")
    assert code == 0
    assert "Kernel map: AdaptiveKernel, 60 points" in printed
    assert "smooth map (DensityMap)" in printed
    browser.get((folder / "spots.html").as_uri())
    WebDriverWait(browser, 60).until(lambda b: b.execute_script("return document.body.dataset.drawn") == "yes")
    ask = browser.execute_script
    assert ask("return document.getElementById('first').textContent").startswith("Kernel map (AdaptiveKernel) chosen")
    assert "80 % of the mass lies, by the kernel map" in ask("return document.body.textContent")
    # The slider is with the smooth map, and moves that one alone.
    assert ask("return document.getElementById('second').contains(document.getElementById('smoothing'))")
    values = "return document.getElementById('{}').data[0].z.flat().filter((v) => v !== null)"
    kernels, smooth = (np.array(ask(values.format(name))) for name in ("map", "beside"))
    ask(
        "const s = document.getElementById('smoothing'); s.value = +s.value ? 0 : +s.max; "
        "s.dispatchEvent(new Event('input'));"
    )
    assert np.array_equal(np.array(ask(values.format("map"))), kernels)
    assert not np.array_equal(np.array(ask(values.format("beside"))), smooth)
    # One scale of colours, and degrees of the sky.
    scales = [
        ask(f"const d = document.getElementById('{k}').data[0]; return [d.zmin, d.zmax]") for k in ("map", "beside")
    ]
    assert scales[0] == scales[1]
    assert max(kernels) <= scales[0][1] + 1e-9
    labels = ask("return document.getElementById('map').layout.xaxis.ticktext")
    assert {"0°", "350°"} <= set(labels) or "345°" in labels
    assert not any("−" in one for one in labels)
    # The chosen map has a band of its own.
    ask("const w = document.getElementById('what'); w.value = 'high'; w.dispatchEvent(new Event('change'));")
    assert (np.array(ask(values.format("map"))) > kernels - 1e-9).all()
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
