"""Rows that are read block by block: what is refused, by its text, and that nothing is half done."""

import gzip
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_ds
import pyarrow.parquet as pq
import pytest

import tmsm
from tmsm.data import arrow_tables, table_files
from tmsm.data.rows import Rows
from tmsm.data.table_source import open_table
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError

REGION = tmsm.LonLatBox(-10.0, 40.0, 20.0, 60.0)
CAP = tmsm.Cap(tmsm.lonlat_to_xyz(5.0, 50.0), 0.6)
N = 1000
LON, LAT = np.random.default_rng(0).uniform([[-9.0], [41.0]], [[19.0], [59.0]], (2, N))


def table(**columns):
    return pa.table({"id": np.arange(N), "lon": LON, "lat": LAT} | columns)


def estimator(**options):
    return tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION, "saturating", **options)


def spoiled(values, row, value):
    values = values.copy()
    values[row] = value
    return values


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Files of these tests have several batches."""
    for module in (arrow_tables, table_files):
        monkeypatch.setattr(module, "BATCH_ROWS", 64)


@pytest.fixture
def points(tmp_path):
    path = tmp_path / "points.parquet"
    pq.write_table(table(), path, row_group_size=100)
    return path


def folder(tmp_path, **parts):
    place = tmp_path / "folder"
    place.mkdir()
    for name, part in parts.items():
        pq.write_table(part, place / f"{name}.parquet")
    return place


def written(tmp_path, text, name="points.csv"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def refused(X, message, kind=InvalidInputError, **columns):
    """The whole sentence, and that the estimator says that it has no estimate."""
    one = estimator()
    one.fit(tmsm.lonlat_to_xyz(LON, LAT))
    with pytest.raises(kind, match=message) as caught:
        one.fit(X, **columns)
    assert str(caught.value).rstrip().endswith(".")
    with pytest.raises(tmsm.errors.NotFittedError, match=re.escape("the last call to fit failed.")):
        one.params_  # noqa: B018


# --- Bad rows ---------------------------------------------------------------------------------------------------------


def test_a_latitude_beyond_its_range_is_named_with_file_and_row(tmp_path):
    pq.write_table(table(lat=spoiled(LAT, 777, 95.0)), tmp_path / "p.parquet", row_group_size=100)
    refused(
        tmp_path / "p.parquet",
        re.escape("p.parquet has 1 of 1,000 rows whose latitude is beyond ±90 degrees (first: p.parquet, row 777: ")
        + r"-?[\d.]+, 95\)\. Mend them, or leave such points out\. Check that 'lon', 'lat' are degrees, longitude "
        r"first\.$",
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_a_row_without_coordinates_is_named_with_its_file(tmp_path, value):
    lon = [*LON[:900], value, *LON[901:]]
    place = folder(tmp_path, a=table().slice(0, 500), b=table(lon=pa.array(lon, pa.float64())).slice(500))
    refused(
        place,
        r"^folder has 1 of 1,000 rows without finite numbers in 'lon', 'lat' \(first: b\.parquet, row 400: ",
    )


def test_a_text_that_is_no_number_is_named_with_its_row(tmp_path):
    text = "lon,lat\n" + "1.0,50.0\n" * 300 + "east,50.0\n" + "1.0,50.0\n" * 300
    refused(written(tmp_path, text), r"^points\.csv, row 300: 'east' in the column 'lon' is no number\.$")


def test_rows_off_the_sphere_are_named_with_their_file(tmp_path):
    x, y, z = tmsm.lonlat_to_xyz(LON, LAT).T
    xyz = pa.table({"x": x, "y": spoiled(y, 650, 2.0), "z": z, "id": np.arange(N)})
    place = folder(tmp_path, a=xyz.slice(0, 300), b=xyz.slice(300))
    refused(
        place, r"^X has 1 of 1,000 rows that are no points on Sphere\(dim=2\) \(first: b\.parquet, row 350: .*, 2, "
    )


def test_rows_outside_the_region_are_counted(tmp_path, points):
    pq.write_table(table(lon=spoiled(LON, slice(10, 13), 70.0)), points)
    refused(points, r"^X has 3 of 1000 rows outside the region \(worst: row 1\d, ")
    assert estimator(outside="drop").fit(points).n_outside_ == 3


def test_a_bad_row_is_found_where_only_a_later_pass_sees_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tmsm.data.rows._SAMPLE_ROWS", 100)
    pq.write_table(table(lat=spoiled(LAT, 777, 95.0)), tmp_path / "p.parquet", row_group_size=50)
    refused(tmp_path / "p.parquet", r"\(first: p\.parquet, row 777: ")


# --- Bad files --------------------------------------------------------------------------------------------------------


def test_a_file_that_was_cut_off(tmp_path, points):
    content = points.read_bytes()
    points.write_bytes(content[: len(content) // 2])
    refused(points, r"^points\.parquet cannot be read as Parquet: .*\.$")


def test_a_file_that_is_damaged_inside(tmp_path, points):
    content = bytearray(points.read_bytes())
    # Nothing but the pages of the columns: what says where they are is whole.
    first = pq.read_metadata(points).row_group(5).column(1).dictionary_page_offset
    first = first or pq.read_metadata(points).row_group(5).column(1).data_page_offset
    content[first : first + 200] = b"\xff" * 200
    points.write_bytes(content)
    refused(points, r"^points\.parquet cannot be read: .*\.$")


def test_an_empty_file_and_an_empty_folder(tmp_path):
    empty = tmp_path / "empty.parquet"
    empty.touch()
    refused(empty, r"^empty\.parquet is empty\.$")
    (tmp_path / "nothing").mkdir()
    refused(tmp_path / "nothing", r"^The folder '.*nothing' holds no Parquet or CSV files\.$")
    (tmp_path / "nothing" / "notes.docx").write_text("…")
    refused(tmp_path / "nothing", r"holds no Parquet or CSV files; it has 'notes\.docx'\.$")
    place = folder(tmp_path, a=table())
    (place / "b.parquet").touch()
    refused(place, r"^b\.parquet is empty\.$")


def test_a_file_without_rows(tmp_path, points):
    pq.write_table(table().slice(0, 0), points)
    refused(points, r"^points\.parquet has no rows\.$")
    refused(written(tmp_path, "lon,lat\n"), r"^points\.csv has no rows\.$")


def test_a_file_that_is_not_there_or_of_another_kind(tmp_path, points):
    refused(tmp_path / "gone.parquet", r"^There is no file '.*gone\.parquet'\.$")
    refused(
        written(tmp_path, "x", "points.xlsx"), r"^points\.xlsx has an ending that is not known\. Give a Parquet or "
    )
    points.write_text("lon,lat\n1,2\n")
    refused(points, r"^points\.parquet cannot be read as Parquet: .*\.$")


def test_files_beside_those_of_a_folder(tmp_path):
    place = folder(tmp_path, a=table().slice(0, 400), b=table().slice(400))
    for name in ("README.md", "_SUCCESS", ".a.parquet.crc", "_temporary.parquet"):
        (place / name).write_text("no rows")
    assert estimator().fit(place).n_samples_ == N
    pa_csv.write_csv(table(), place / "a.csv")
    refused(
        place,
        r"one kind: it has both Parquet and text files, such as a\.parquet and a\.csv, which would count twice\.$",
    )


def test_a_file_that_goes_away_or_changes_between_passes(points):
    source = open_table(points)
    assert sum(len(block.X) for block in source.blocks(300)) == N
    pq.write_table(table().slice(0, 900), points)
    with pytest.raises(InvalidInputError, match=r"^points\.parquet has changed since reading began: fit again when "):
        list(source.blocks(300))
    points.unlink()
    with pytest.raises(InvalidInputError, match=r"^points\.parquet is not there any more: it went away while it was "):
        list(source.blocks(300))


def test_lines_of_another_length(tmp_path):
    text = "lon,lat\n" + "1.0,50.0\n" * 20 + "1.0\n" + "1.0,50.0\n" * 20
    refused(written(tmp_path, text), r"^points\.csv cannot be read: .*Row #2\d: Expected 2 columns, got 1")
    refused(
        written(tmp_path, "lon lat\n1 2\n" * 3), r"^points\.csv has blanks between its columns, and only tables with"
    )
    whole = gzip.compress(("lon,lat\n" + "1.0,50.0\n" * 5000).encode())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / "cut.csv.gz", r"^cut\.csv\.gz cannot be read: .*\.$")


# --- Columns ----------------------------------------------------------------------------------------------------------


def test_a_column_that_one_file_lacks(tmp_path):
    place = folder(tmp_path, a=table().slice(0, 500), b=table().slice(500).drop_columns(["lat"]))
    refused(place, r"^b\.parquet has no column 'lat', which a\.parquet has; it has 'id', 'lon'\.$")


def test_a_column_of_another_type_in_one_file(tmp_path):
    words = pa.array(["north"] * N)
    place = folder(tmp_path, a=table().slice(0, 500), b=table().set_column(2, "lat", words).slice(500))
    refused(place, r"^b\.parquet, row 0: 'north' in the column 'lat' is no number\.$")
    days = pa.array(np.zeros(N, dtype="datetime64[D]"))
    pq.write_table(table().set_column(2, "lat", days).slice(500), place / "b.parquet")
    refused(place, r"^b\.parquet: the column 'lat' holds date32\[day\], and numbers are wanted\.$")
    single = pa.array(LAT.astype(np.float32))
    pq.write_table(table().set_column(2, "lat", single).slice(500), place / "b.parquet")
    assert estimator().fit(place).n_samples_ == N


def test_columns_that_names_do_not_show(tmp_path, points):
    pq.write_table(pa.table({"a": LON, "b": LAT}), points)
    refused(
        points,
        r"^points\.parquet has no columns that look like longitude and latitude, ra and dec, l and b, or x, y and z; "
        r"it has 'a', 'b'\. Rename them, or name them in tmsm\.data\.table_source\.open_table\(table, columns=",
    )
    assert estimator().fit(open_table(points, ("a", "b"))).n_samples_ == N
    with pytest.raises(InvalidInputError, match=r"^points\.parquet has no column 'c' for the coordinates; it has 'a'"):
        open_table(points, ("a", "c"))
    with pytest.raises(InvalidInputError, match=r"^columns must be two names, longitude first, or 3 names of coordin"):
        open_table(points, ("a",))
    pq.write_table(table(ra=LON, dec=LAT), points)
    refused(points, r"^points\.parquet has coordinates in several frames, earth and icrs\. Name two columns in ")
    pq.write_table(table(longitude=LON), points)
    refused(points, r"^points\.parquet has several columns that look like longitude and latitude: 'lon', 'longitude', ")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"sample_weight": "mass"},
            r"^points\.parquet has no column 'mass' for the sample_weight; it has 'id', 'lon', ",
        ),
        ({"groups": "storm"}, r"^points\.parquet has no column 'storm' for the groups; it has 'id', 'lon', 'lat'"),
        ({"covariates": ["year"]}, r"^points\.parquet has no column 'year' for the covariates; it has"),
        ({"covariates": ["lon"]}, r"^The column 'lon' is a coordinate of the points, and no covariate of them\.$"),
        ({"covariates": ["id", "ID"]}, r"^covariates has the column 'id' twice\.$"),
    ],
)
def test_columns_that_are_asked_for_and_not_there(points, columns, message):
    refused(points, message, **columns)


@pytest.mark.parametrize(
    ("columns", "what"), [({"sample_weight": np.ones(N)}, "sample_weight"), ({"groups": np.arange(N)}, "groups")]
)
def test_what_stands_beside_a_file_is_one_of_its_columns(points, columns, what):
    message = rf"^points\.parquet is read block by block: {what} must be the name of a column of it; got ndarray\.$"
    refused(points, message, InvalidTypeError, **columns)


def test_weights_labels_and_covariates_that_no_row_may_lack(points):
    pq.write_table(table(w=spoiled(np.ones(N), 901, -1.0)), points)
    refused(
        points,
        r"^points\.parquet, row 901 has the weight -1 in the column 'w': weights must not be negative, and below "
        r"1e\+100",
        sample_weight="w",
    )
    pq.write_table(table(w=spoiled(np.ones(N), 901, np.nan)), points)
    refused(
        points, r"^points\.parquet, row 901 has no finite number in the column 'w' of the weights\.", sample_weight="w"
    )
    refused(
        points, r"^points\.parquet, row 901 has no finite number in the column 'w' of the covariates", covariates="w"
    )
    labels = ["a"] * N
    for blank in (None, " "):
        pq.write_table(table(storm=[*labels[:7], blank, *labels[8:]]), points)
        refused(
            points, r"^points\.parquet, row 7 has no value in the column 'storm' of the groups\. Give every row a "
            "label of its own where it stands alone", groups="storm",
        )  # fmt: skip


def test_rows_that_are_left_out_may_lack_anything(points):
    storm = ["a" if k % 2 else None for k in range(N)]
    mag = np.where(np.arange(N) % 2, 5.0, 1.0)
    pq.write_table(table(storm=storm, mag=mag, lat=np.where(mag > 2.0, LAT, 95.0)), points)
    rows = open_table(points, groups="storm", where="mag > 2")
    assert len(rows) == N // 2
    assert rows.groups.count == 1
    assert rows.sample(100).groups.tolist() == [0] * 100
    pq.write_table(table(storm=["a"] * 701 + [None] + ["b"] * 298, mag=mag), points)
    with pytest.raises(InvalidInputError, match=r"^points\.parquet, row 701 has no value in the column 'storm'"):
        open_table(points, groups="storm", where="mag > 2").groups  # noqa: B018
    lat = np.where(np.arange(N) == 705, 95.0, LAT)
    pq.write_table(table(lat=lat, mag=mag), points)
    refused(open_table(points, where="mag > 2"), r"\(first: points\.parquet, row 705: ")


def test_labels_of_another_type_in_one_file(tmp_path):
    parts = {"a": table(storm=[str(k) for k in range(N)]), "b": table(storm=np.arange(N))}
    refused(
        folder(tmp_path, **parts),
        r"^b\.parquet: the column 'storm' of the groups holds int64, and large_string before\.$",
        groups="storm",
    )


def test_covariates_of_rows_in_blocks_are_judged_as_those_of_an_array(points):
    noise = np.random.default_rng(1).standard_normal((2, N))
    pq.write_table(table(a=noise[0], b=noise[1], c=noise[0] - 2.0 * noise[1], same=np.ones(N)), points)
    for names, message in (
        (["same"], "The covariate 'same' has the same value, 1, in all 1,000 rows that the fit uses"),
        (["a", "b", "c"], "The covariate 'c' is a linear combination of the constant and of 'a', 'b' in the rows"),
    ):
        with pytest.raises(tmsm.errors.EstimationError, match=message):
            estimator().fit(points, covariates=names)
        columns = pq.read_table(points, columns=names).to_pandas()
        with pytest.raises(tmsm.errors.EstimationError, match=message):
            estimator().fit(tmsm.lonlat_to_xyz(LON, LAT), covariates=columns)


# --- Functions and iterators ------------------------------------------------------------------------------------------

X = tmsm.lonlat_to_xyz(LON, LAT)


def blocks():
    return iter(np.array_split(X, 7))


def test_functions_that_do_not_give_the_same_rows_each_time():
    once = blocks()
    refused(
        lambda: once, r"^The function that gives blocks gave 0 rows in one pass and 1,000 in another: it must give "
    )
    refused(lambda: iter(()), r"^The function that gives blocks has no rows\.$")


def test_functions_that_are_none_of_blocks():
    refused(
        lambda path: blocks(), r"^A function that gives blocks must need no arguments \(.*'path'\): ", InvalidTypeError
    )
    refused(lambda: 3, r"must return an iterator of arrays \(n, D\), such as a generator; got int\.$", InvalidTypeError)
    refused(
        lambda: X, r"must return an iterator of arrays \(n, D\), such as a generator; got ndarray", InvalidTypeError
    )
    refused(
        lambda: [X[:5], X[:, :2]], r"^Block 1 of the function that gives blocks: X has 2 columns where points have 3"
    )
    refused(
        lambda: [X[:5], [["a", "b", "c"]]],
        r"^Block 1 of the function that gives blocks: X must hold ",
        InvalidTypeError,
    )
    refused(
        blocks, r"^sample_weight is for arrays, and for files and tables of which it is a column", sample_weight="w"
    )
    refused(blocks, r"is read in blocks, which have points alone: groups are for arrays, and for files", groups="g")
    refused(blocks, r"is read in blocks, which have points alone: covariates are for", covariates=["g"])


def test_a_function_may_use_its_memory_again():
    def reused():
        memory = np.empty((100, 3))
        for k in range(0, N, 100):
            memory[:] = X[k : k + 100]
            yield memory

    rows = Rows.of(reused, tmsm.Everywhere(tmsm.Sphere(2)))
    np.testing.assert_array_equal(rows.sample().X, X)
    np.testing.assert_array_equal(np.concatenate([block.X.copy() for block in rows.source.blocks(90)]), X)


def test_what_can_be_read_only_once():
    words = r"can be read only once, and fit reads rows several times: give each of its blocks to partial_fit, or pass "
    likelihood = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), REGION)
    with pytest.raises(ValueError, match=rf"^An iterator of blocks {words}"):
        likelihood.fit(blocks())
    with pytest.raises(ValueError, match=rf"^A RecordBatchReader {words}"):
        likelihood.fit(table().to_reader())
    with pytest.raises(ValueError, match="can be read only once take no groups"):
        estimator().fit(blocks(), groups=np.arange(N))
    whole = estimator().partial_fit(X)
    for once in (blocks(), table().to_reader()):
        fit = estimator().fit(once)
        assert fit.n_samples_ == len(X)
        np.testing.assert_allclose(fit.natural_params_, whole.natural_params_)
        np.testing.assert_allclose(fit.covariance_, whole.covariance_, rtol=1e-6)
    parts = estimator()
    for batch in table().to_batches(max_chunksize=N):
        parts.partial_fit(batch)
    np.testing.assert_allclose(parts.natural_params_, whole.natural_params_)


@pytest.mark.parametrize("number", range(1, 5))
def test_an_interruption_in_any_pass_leaves_nothing_half_done(monkeypatch, points, number):
    """The passes: a sample, the sums, the errors; and what shows bad rows."""
    seen = []

    def interrupted(self, names):
        seen.append(names)
        if len(seen) == number:
            raise KeyboardInterrupt
        return original(self, names)

    original = table_files.TableFiles.batches
    monkeypatch.setattr(table_files.TableFiles, "batches", interrupted)
    one = estimator()
    try:
        one.fit(points)
    except KeyboardInterrupt:
        with pytest.raises(tmsm.errors.NotFittedError):
            one.params_  # noqa: B018
    else:
        assert len(seen) < number


def test_pyarrow_is_asked_for_where_it_is_needed(monkeypatch, points):
    polars = pytest.importorskip("polars").DataFrame({"lon": LON, "lat": LAT})
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    words = r"^Reading files and tables block by block needs pyarrow: pip install 'tmsm\[geo\]'\.$"
    refused(points, words, tmsm.errors.MissingDependencyError)
    assert estimator().fit(polars).n_samples_ == N


def test_a_dataset_names_the_file(tmp_path):
    place = folder(tmp_path, a=table().slice(0, 500), b=table(lat=spoiled(LAT, 777, 95.0)).slice(500))
    refused(pa_ds.dataset(place), r"^The dataset has 1 of 1,000 rows whose .* \(first: .*b\.parquet, row 277: ")


def test_a_dataset_may_have_a_filter(tmp_path):
    place = folder(tmp_path, a=table().slice(0, 500), b=table().slice(500))
    dataset = pa_ds.dataset(place).filter(pa_ds.field("id") >= 700)
    assert estimator().fit(dataset).n_samples_ == 300
    in_memory = pa_ds.dataset([table().slice(0, 400), table().slice(400)])
    assert estimator().fit(in_memory).n_samples_ == N


def test_rows_a_second_are_shown(monkeypatch, capsys):
    from tests.contract.test_progress import Terminal
    from tmsm.foundation import progress

    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert list(progress.with_progress(range(4), None, "reading rows", lambda one: 1000)) == [0, 1, 2, 3]
    assert re.search(r"reading rows \([\d,]+ a second\)", stream.getvalue())


def test_degrees_go_to_compiled_loops_as_they_are(monkeypatch):
    usual = tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, "geodesic").fit(table())
    monkeypatch.setattr("tmsm.matching.row_sums._FEWEST_ROWS", 1)
    monkeypatch.setattr("tmsm.data.opening._FEW_ROWS", 1)
    looped = tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, "geodesic").fit(table())
    np.testing.assert_allclose(looped.natural_params_, usual.natural_params_, rtol=1e-10)
    np.testing.assert_allclose(looped.covariance_, usual.covariance_, rtol=1e-8, atol=1e-12)
    bad = table(lat=spoiled(LAT, 777, 95.0))
    with pytest.raises(ValueError, match="row 777"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, "geodesic", outside="drop").fit(bad)


def test_rows_that_can_be_read_only_once_and_are_none():
    def fit(blocks):
        return tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, outside="drop").fit(iter(blocks))

    for none in ([], [X[:0]]):
        with pytest.raises(ValueError, match="were none: there is nothing to fit"):
            fit(none)
    with pytest.raises(ValueError, match="None is left to fit"):
        fit([np.tile(-CAP.center, (20, 1))])


def test_groups_count_alike_however_a_file_is_divided(tmp_path):
    """A sample of many row groups sees few of the groups, and knows it."""
    n = 80_000
    rows = pa.table({"lon": np.resize(LON, n), "lat": np.resize(LAT, n), "storm": np.arange(n) // 50})
    found = []
    for name, size in (("one", n), ("many", 2500)):
        pq.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=size)
        source = Rows.of(tmp_path / f"{name}.parquet", CAP, outside="drop").grouped("storm")
        inside = source.kept().effective_number
        found.append(inside / source.share_of_groups)
    assert found[0] == pytest.approx(found[1], rel=0.1)
