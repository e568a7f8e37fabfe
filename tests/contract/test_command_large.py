"""The command on folders and on files that are too large to be loaded: the same results, and what it says."""

import json
import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import tmsm
from tmsm.cli import large_points, main
from tmsm.data import table_source

N = 600
BORDER = "box:-100,25,-75,48"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Points with a few that lack coordinates, one beyond the range and one outside, in files and folders."""
    place = tmp_path_factory.mktemp("large")
    truth = {"mean_direction": tmsm.lonlat_to_xyz(-85.0, 35.0), "concentration": 60.0}
    region = tmsm.LonLatBox(-100.0, 25.0, -75.0, 48.0)
    lon, lat = tmsm.xyz_to_lonlat(tmsm.VonMisesFisher().sample(N, region, random_state=0, **truth))
    columns = {"lon": lon, "lat": lat, "storm": [f"s{k // 4}" for k in range(N)], "year": np.arange(N) % 40 + 1980}
    good = pa.table(columns | {"mag": np.arange(N) % 7})
    rows = {"lon": [None, -90.0], "lat": [30.0, None], "storm": ["s1", "s2"], "year": [1990, 1991], "mag": [5, 5]}
    lacking = pa.table(rows)
    beyond = pa.table({"lon": [-90.0], "lat": [95.0], "storm": ["s3"], "year": [1990], "mag": [5]})
    outside = pa.table({"lon": [-50.0], "lat": [35.0], "storm": ["s9"], "year": [1990], "mag": [5]})
    pq.write_table(
        pa.concat_tables([good.slice(0, 100), lacking.cast(good.schema), good.slice(100)]), place / "p.parquet"
    )
    whole = [good, beyond.cast(good.schema), outside.cast(good.schema), lacking.cast(good.schema)]
    pq.write_table(pa.concat_tables(whole), place / "bad.parquet")
    pa_csv.write_csv(pq.read_table(place / "p.parquet"), place / "p.csv")
    (place / "folder").mkdir()
    table = pq.read_table(place / "p.parquet")
    for k in range(3):
        pq.write_table(table.slice(220 * k, 220), place / "folder" / f"{k}.parquet")
    return place


@pytest.fixture
def command(monkeypatch, capsys, place):
    """Runs the command; files of more than ``rows`` rows, or some bytes, are large."""

    def run(*arguments, rows=100):
        monkeypatch.setattr(large_points, "LARGE_ROWS", rows)
        monkeypatch.setattr(large_points, "LARGE_BYTES", 20 * rows)
        monkeypatch.setattr(sys, "argv", ["tmsm", *map(str, arguments)])
        monkeypatch.chdir(place)
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr("warnings.showwarning", warnings.showwarning)  # which the command replaces
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def opened(monkeypatch):
    """How often something was read in blocks."""
    counted = []
    original = table_source.TableSource.pieces

    def pieces(self):
        counted.append(self.title)
        return original(self)

    monkeypatch.setattr(table_source.TableSource, "pieces", pieces)
    return counted


OPTIONS = {
    "plain": [],
    "groups and a filter": ["--groups", "storm", "--points-where", "mag >= 3"],
    "covariates": ["--covariate", "year", "--weight", "saturating"],
    "likelihood": ["--method", "mle"],
    "refined": ["--method", "refined"],
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", ["p.parquet", "p.csv"])
def test_large_files_give_what_loaded_ones_do(command, opened, name, options):
    loaded = command("fit", name, "--region", BORDER, "--json", *options, rows=10**6)
    assert not opened
    streamed = command("fit", name, "--region", BORDER, "--json", *options)
    assert opened
    assert loaded[0] == streamed[0] == 0, streamed
    expected, found = (json.loads(done[1]) for done in (loaded, streamed))
    assert found["n_samples"] == expected["n_samples"]
    for parameter, one in expected["estimates"].items():
        np.testing.assert_allclose(found["estimates"][parameter]["estimate"], one["estimate"], rtol=1e-9)
        np.testing.assert_allclose(found["estimates"][parameter]["std_error"], one["std_error"], rtol=1e-9)
    assert loaded[2] == streamed[2]
    assert "2 rows of" in streamed[2] or "mag" in str(options)


def test_a_folder_is_read_as_one_table(command, opened):
    one, several = (command("fit", name, "--region", BORDER, "--json", rows=10**6) for name in ("p.parquet", "folder"))
    assert opened
    assert json.loads(several[1])["estimates"] == json.loads(one[1])["estimates"]
    assert several[2] == "2 rows of folder have no coordinates and were left out.\n"


def test_bad_rows_are_told_or_skipped(command):
    code, _, said = command("fit", "bad.parquet", "--region", BORDER)
    assert code
    assert said.startswith(
        "tmsm: bad.parquet has 1 of 604 rows whose latitude is beyond ±90 degrees (first: bad.parquet, "
    )
    assert "row 600: -90, 95). Mend them, or leave such points out with --bad skip." in said
    code, _, said = command("fit", "bad.parquet", "--region", BORDER, "--bad", "skip")
    assert code
    assert "X has 1 of 601 rows outside the region" in said
    assert "or leave such points out with --outside drop." in said
    code, shown, said = command("fit", "bad.parquet", "--region", BORDER, "--bad", "skip", "--outside", "drop")
    assert not code, said
    assert "dropped" in shown
    assert "1 bad row of bad.parquet left out; the first: bad.parquet, row 600 (-90, 95).\n" in said


def test_points_without_a_covariate_are_skipped_with_the_bad_ones(command, place):
    table = pq.read_table(place / "p.parquet")
    year = pa.array([None if k in (50, 300) else 1980 + k % 40 for k in range(len(table))])
    pq.write_table(table.set_column(3, "year", year), place / "lacking.parquet")
    options = ["lacking.parquet", "--region", BORDER, "--covariate", "year", "--weight", "saturating", "--json"]
    code, _, said = command("fit", *options)
    assert code
    assert "lacking.parquet, row 50 has no finite number in the column 'year' of the covariates. Fill it in, " in said
    loaded, streamed = (command("fit", *options, "--bad", "skip", rows=rows) for rows in (10**6, 100))
    assert json.loads(loaded[1])["n_samples"] == json.loads(streamed[1])["n_samples"] == N - 2
    assert "2 bad rows of lacking.parquet left out; the first: " in loaded[2]
    assert (
        "2 bad rows of lacking.parquet left out; the first: lacking.parquet, row 50 (no number in 'year')"
        in streamed[2]
    )


def test_compare_reads_in_blocks_too(command, opened):
    loaded = command("compare", "p.parquet", "--region", BORDER, "--models", "vmf,kent", "--json", rows=10**6)
    assert not opened
    streamed = command("compare", "p.parquet", "--region", BORDER, "--models", "vmf,kent", "--json")
    assert opened
    expected, found = (json.loads(done[1]) for done in (loaded, streamed))
    assert found["n_samples"] == expected["n_samples"] == N
    assert [one["model"] for one in found["fits"]] == [one["model"] for one in expected["fits"]]
    for a, b in zip(found["fits"], expected["fits"], strict=True):
        assert a["criterion"] == pytest.approx(b["criterion"], rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["fit", "--method", "naive"], "the method naive"),
        (["fit", "--model", "heavy-tailed"], "a mixture or a heavy tail"),
        (["fit", "--also", "mag:line"], "--also"),
        (["map"], "a map"),
        (["compare", "--models", "vmf,mixture:2"], "a mixture or a heavy tail"),
    ],
    ids=lambda value: str(value),
)
def test_what_needs_all_points_at_once_is_said_of_folders(command, arguments, what):
    first, *rest = arguments
    code, _, said = command(first, "folder", "--region", BORDER, *rest)
    assert code
    sentence = f"is a folder, whose files are read block by block, and {what} needs all points at once: give one file."
    assert sentence in " ".join(said.split())


def test_what_needs_all_points_at_once_loads_a_file(command, opened):
    code, _, said = command("fit", "p.parquet", "--region", BORDER, "--method", "naive")
    assert not code, said
    assert not opened


def test_columns_and_files_of_folders_are_told_as_those_of_files(command, place):
    code, _, said = command("fit", "folder", "--region", BORDER, "--columns", "east,lat")
    assert code
    assert "folder has no column 'east' for the longitude; it has 'lon', 'lat', 'storm', 'year', 'mag'." in said
    (place / "others").mkdir(exist_ok=True)
    code, _, said = command("fit", "others", "--region", BORDER)
    assert code
    assert "others' holds no Parquet or CSV files." in said
    code, _, said = command("fit", "folder", "--region", BORDER, "--points-where", "mag > 99")
    assert code
    assert "mag" in said
