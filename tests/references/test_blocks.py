"""Rows that are read in blocks give the estimates of the same rows in an array."""

import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_ds
import pyarrow.parquet as pq
import pytest

import tmsm
from tmsm.data import opening
from tmsm.data.table_source import open_table

N = 1203
REGION = tmsm.Cap(tmsm.lonlat_to_xyz(0.0, 45.0), 0.5)
MODEL = tmsm.VonMisesFisher()
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(10.0, 45.0), "concentration": 20.0}
ESTIMATORS = {
    "single": lambda: tmsm.ScoreMatching(MODEL, REGION, "saturating"),
    "combined": lambda: tmsm.ScoreMatching(MODEL, REGION, "combined"),
    "robust": lambda: tmsm.ScoreMatching(MODEL, REGION, "saturating", robust=0.2),
    "refined": lambda: tmsm.ScoreMatching(MODEL, REGION, refine="mle"),
    "likelihood": lambda: tmsm.TruncatedMLE(MODEL, REGION),
    "naive": lambda: tmsm.NaiveMLE(MODEL),
    "heavy tail": lambda: tmsm.TruncatedMLE(tmsm.HeavyTailed(), REGION),
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """The same rows, weights, groups and covariates: as arrays, and as every kind of source."""
    place = tmp_path_factory.mktemp("rows")
    lon, lat = tmsm.xyz_to_lonlat(MODEL.sample(N, REGION, random_state=0, **TRUTH))
    X = tmsm.lonlat_to_xyz(lon, lat)
    rng = np.random.default_rng(1)
    weight, groups, year = rng.uniform(0.0, 2.0, N), np.arange(N) // 5, rng.normal(2000.0, 10.0, N)
    labels = [f"storm {k:03}" for k in groups]
    table = pa.table({"name": labels, "lat": lat, "w": weight, "lon": lon, "storm": labels, "year": year})
    pq.write_table(table, place / "a.parquet", row_group_size=300)
    pa_csv.write_csv(table, place / "a.csv")
    for k in range(3):
        part = place / "folder" / f"part={k}"
        part.mkdir(parents=True)
        pq.write_table(table.slice(500 * k, 500), part / "rows.parquet")
    np.save(place / "x.npy", X)
    with_columns = {
        "Parquet": place / "a.parquet",
        "CSV": str(place / "a.csv"),
        "folder": place / "folder",
        "Arrow": table,
        "dataset": pa_ds.dataset(place / "folder", partitioning="hive"),
    }
    points_alone = {
        "memory map": np.load(place / "x.npy", mmap_mode="r"),
        "function": lambda: np.array_split(X, 11),
        "Polars": pl.from_arrow(table),
    }
    return X, {"weight": weight, "groups": groups, "year": year}, with_columns, points_alone


def close(found, expected, tolerance=1e-12):
    errors = np.sqrt(np.diag(expected.covariance_))
    assert (np.abs(found.natural_params_ - expected.natural_params_) <= tolerance * errors).all()
    np.testing.assert_allclose(found.covariance_, expected.covariance_, rtol=1e-10)
    assert found.n_samples_ == expected.n_samples_


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimates_are_those_of_the_array(kinds, monkeypatch, name):
    monkeypatch.setattr(opening, "_FEW_ROWS", 0)  # tables in memory are read in blocks, too
    X, _, with_columns, points_alone = kinds
    make = ESTIMATORS[name]
    expected = make().fit(X)
    sources = with_columns | points_alone
    if name == "naive":
        del sources["function"]  # whose points may be of any dimension
    for kind in sources if name in ("single", "likelihood") else ("Parquet", "Polars"):
        found = make().fit(sources[kind])
        close(found, expected)
        assert found.result_.kept.frame.name == ("earth" if kind in with_columns or kind == "Polars" else "plain")


@pytest.mark.parametrize("columns", ["weight", "groups", "weight groups", "year", "weight groups year"])
def test_columns_are_weights_groups_and_covariates(kinds, columns):
    X, values, with_columns, _ = kinds
    names = {"weight": "w", "groups": "storm", "year": ["year"]}
    arguments = {"weight": "sample_weight", "groups": "groups", "year": "covariates"}
    given = {arguments[one]: values[one] if one != "year" else {"year": values[one]} for one in columns.split()}
    named = {arguments[one]: names[one] for one in columns.split()}
    for make in (ESTIMATORS["single"], ESTIMATORS["likelihood"]):
        expected = make().fit(X, **given)
        for source in with_columns.values():
            found = make().fit(source, **named)
            # Mean and spread of covariates are sums over blocks, which are rounded otherwise.
            close(found, expected, 1e-11 if "year" in columns else 1e-12)
            assert found.result_.n_groups == expected.result_.n_groups


def test_maps_take_them_too(kinds):
    X, values, with_columns, _ = kinds
    some = values["year"] > 2012.0
    rows = open_table(with_columns["Parquet"], where="year > 2012")
    kernels = (tmsm.AdaptiveKernel(REGION).fit(one) for one in (X[some], rows))
    np.testing.assert_allclose(*(one.logpdf(X[:20]) for one in kernels), rtol=1e-9)
    maps = (tmsm.DensityMap(REGION, degree=3, smoothing=1e-3).fit(one) for one in (X[some], rows))
    np.testing.assert_allclose(*(one.logpdf(X[:20]) for one in maps), rtol=1e-9)


def test_scores_and_the_bootstrap_take_them_too(kinds):
    X, values, with_columns, _ = kinds
    path, make = with_columns["Parquet"], ESTIMATORS["single"]
    fit = make().fit(path, groups="storm")
    assert fit.score(path) == pytest.approx(make().fit(X).score(X), rel=1e-12)
    expected = make().fit(X, groups=values["groups"]).bootstrap(X, 5, 0, groups=values["groups"], n_jobs=1)
    found = fit.bootstrap(path, 5, 0, groups="storm", n_jobs=1)
    np.testing.assert_allclose(found.std_errors.concentration, expected.std_errors.concentration, rtol=1e-9)


def test_flat_coordinates_by_their_names(tmp_path):
    rows = np.random.default_rng(0).normal(0.5, 0.6, (400, 3)).clip(-0.9, 1.9)
    table = pa.table({"y": rows[:, 1], "id": np.arange(400), "x": rows[:, 0], "z": rows[:, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    model, region = tmsm.MultivariateNormal(), tmsm.Box([-1.0] * 3, [2.0] * 3)
    expected = tmsm.ScoreMatching(model, region).fit(rows)
    close(tmsm.ScoreMatching(model, region).fit(tmp_path / "a.parquet"), expected)
    plane = tmsm.NaiveMLE(model).fit(rows[:, :2])
    close(tmsm.NaiveMLE(model).fit(open_table(tmp_path / "a.parquet", ("x", "y"), manifold=tmsm.Euclidean(2))), plane)


def test_a_sample_of_a_large_file_is_spread_over_its_row_groups(tmp_path):
    """Where there are many, the beginnings of all of them are read, and no more."""
    n, size = 40_000, 1_000
    x = np.arange(n) / n
    pq.write_table(pa.table({"x": x, "y": x}), tmp_path / "a.parquet", row_group_size=size)
    source = open_table(tmp_path / "a.parquet", manifold=tmsm.Euclidean(2))
    sample = source.sample(800).X[:, 0] * n
    assert len(sample) == -(-n // source.stride(800))
    numbers = np.rint(sample).astype(int)
    assert (np.diff(numbers) > 0).all()
    assert np.bincount(numbers // size, minlength=40).tolist() == [20] * 40
    assert (numbers % size).max() < size / 8
    # A sample that is as large as the table is the table.
    np.testing.assert_array_equal(source.sample(n).X[:, 0], x)


MEMORY = """
import resource, sys
import tmsm
region = tmsm.Cap(tmsm.lonlat_to_xyz(0.0, 45.0), 0.5)
estimator = tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, "saturating", outside="drop")
used = []
for path in sys.argv[1:]:
    estimator.fit(path)
    used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print((used[-1] - used[0]) * (1 if sys.platform == "darwin" else 1024))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="nobody counts memory there")
def test_memory_does_not_grow_with_the_file(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in (("small", 200_000), ("large", 1_400_000)):
        columns = {"lon": rng.normal(0.0, 5.0, n), "lat": rng.normal(45.0, 5.0, n)}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", row_group_size=100_000)
    arguments = [sys.executable, "-c", MEMORY, tmp_path / "small.parquet", tmp_path / "large.parquet"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    # The points alone are 29 MB more.
    assert int(done.stdout) < 12e6
