"""The paper's experiments: the figures of an independent simulation, and the machinery round them."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tmsm
from scenarios.paper import INDEPENDENT, simulate, tolerance
from tmsm_experiments.cells import Store, run_cells
from tmsm_experiments.paper import (
    accuracy,
    bound,
    catalogues,
    claims,
    errata,
    families,
    illustration,
    origins,
    page,
    storms,
)
from tmsm_experiments.paper.methods import COMBINED, DEFAULT, EXACT, GEODESIC, NAIVE
from tmsm_experiments.paper.results import Results
from tmsm_experiments.paper.settings import EXPERIMENTS, HEMISPHERE, KENT_KNOWN, VMF_KNOWN, VMF_UNKNOWN

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def simulated():
    return simulate()


@pytest.mark.parametrize("key", INDEPENDENT, ids=lambda key: f"{key[0].name}-{key[1]}-{key[2]}")
def test_mean_errors_agree_with_an_independent_simulation(simulated, key):
    for method, value in INDEPENDENT[key].items():
        result = simulated[key]
        assert abs(result.mean(method)[0] - value) < tolerance(result, method, value), method


@pytest.mark.parametrize("key", INDEPENDENT, ids=lambda key: f"{key[0].name}-{key[1]}-{key[2]}")
def test_the_efficient_methods_are_at_the_bound_and_the_naive_one_is_not(simulated, key):
    result = simulated[key]
    limit = result.bound / np.sqrt(key[2])
    for method in (DEFAULT, COMBINED, EXACT):
        assert result.mean(method)[0] / limit == pytest.approx(
            1.0, abs=0.04 + 3.0 * result.mean_error(method)[0] / limit
        )
    assert result.mean(NAIVE)[0] > 5.0 * limit


def test_the_bound_is_the_covariance_of_the_exact_likelihood():
    # An independent computation: the stated covariance of a fit to many rows, by quadrature of the library.
    for experiment in (VMF_UNKNOWN, VMF_KNOWN):
        X = experiment.sample(200_000, 0, 0)
        fit = tmsm.TruncatedMLE(experiment.model, HEMISPHERE).fit(X)
        covariance = np.linalg.inv(bound.information(experiment))
        stated = fit.std_errors_.mean_direction**2 * len(X)
        # At the mean, on the equator of the angles, these are lengths on the sphere.
        assert stated == pytest.approx(np.trace(covariance[:2, :2]), rel=0.03)
        if experiment is VMF_UNKNOWN:
            assert fit.std_errors_.concentration**2 * len(X) == pytest.approx(covariance[2, 2], rel=0.03)
    X = KENT_KNOWN.sample(200_000, 0, 0)
    fit = tmsm.TruncatedMLE(KENT_KNOWN.model, HEMISPHERE).fit(X)
    covariance = np.linalg.inv(bound.information(KENT_KNOWN))
    assert fit.std_errors_.mean_direction**2 * len(X) == pytest.approx(np.trace(covariance[:2, :2]), rel=0.03)


def test_numbers_depend_on_the_seed_alone(tmp_path):
    def means(jobs, trials, seed=3):
        found = accuracy.simulate(Store(tmp_path / f"{jobs}-{trials}"), trials, jobs, seed, (100,), EXPERIMENTS[:2])
        return [result.errors[method][0, :34] for result in found for method in result.errors]

    one = means(1, 40)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, means(2, 40), strict=True))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, means(1, 34), strict=True))
    assert not np.array_equal(one[0], means(1, 34, seed=4)[0])


class Counted:
    """A cell that can be computed once."""

    def __init__(self, name):
        self.name, self.computed = name, 0

    def compute(self):
        self.computed += 1
        assert self.computed == 1
        return [{"value": repr(0.1 + len(self.name))}]


def test_a_bias_is_the_mean_of_signed_errors():
    (result,) = accuracy.simulate(Store(None), 8, 1, 0, (100,), (VMF_KNOWN,))
    angles = [
        tmsm.xyz_to_colatlon(tmsm.NaiveMLE(VMF_KNOWN.model).fit(VMF_KNOWN.sample(100, 0, k)).params_.mean_direction)
        for k in range(8)
    ]
    offsets = np.array([colat for colat, _ in angles]) - np.pi / 2
    assert result.bias(NAIVE)[0] == pytest.approx(offsets.mean(), rel=1e-9)
    assert result.bias_error(NAIVE)[0] == pytest.approx(offsets.std(ddof=1) / np.sqrt(8), rel=1e-9)


def test_finished_cells_are_not_computed_again(tmp_path):
    store, cells = Store(tmp_path), [Counted("a"), Counted("bb")]
    first = run_cells(cells, store, 1, "Cells")
    assert run_cells(cells, store, 1, "Cells") == first == {"a": [{"value": "1.1"}], "bb": [{"value": "2.1"}]}
    # Half a file is never there: it is written under another name first.
    assert [path.name for path in sorted(tmp_path.rglob("*")) if path.is_file()] == ["a.csv", "bb.csv"]

    class Failing(Counted):
        def compute(self):
            raise KeyboardInterrupt

    more = [*cells, Counted("c"), Failing("d")]
    with pytest.raises(KeyboardInterrupt):
        run_cells(more, store, 1, "Cells")
    assert store.read("c") == [{"value": "1.1"}]
    assert store.read("d") is None


def test_the_slope_of_a_power_law():
    n = np.array([100.0, 1000.0, 10_000.0])
    value, error = accuracy.slope(n, 3.0 / np.sqrt(n), 0.01 * 3.0 / np.sqrt(n))
    assert value == pytest.approx(-0.5, abs=1e-12)
    assert error == pytest.approx(0.01 / np.sqrt(2 * np.log(10) ** 2), rel=1e-9)


def test_errors_in_print_are_errors():
    for erratum in errata.ERRATA:
        found = {}
        for seed in range(6):
            for where, variant, kappa, _ in erratum.run(seed):
                found.setdefault((where, variant), []).append(kappa)
        for (where, variant), values in found.items():
            off = abs(np.mean(values) - erratum.truth)
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            if variant not in errata.WRONG or where == "band between parallels":
                assert off < 4.0 * error + 0.01 * erratum.truth, (erratum.name, where)
            elif variant != errata.VERTEX:
                assert off > 10.0 * error + 0.1 * erratum.truth, (erratum.name, where)


def test_the_printed_haversine_has_the_gradient_of_its_value():
    rng = np.random.default_rng(0)
    X, Y = (tmsm.lonlat_to_xyz(rng.uniform(-30, 30, 50), rng.uniform(10, 60, 50)) for _ in range(2))
    _, slope = errata.printed_haversine(X, Y)
    V = rng.standard_normal(X.shape)
    V -= X * (X * V).sum(axis=1, keepdims=True)

    def moved(step):
        Z = X + step * V
        return errata.printed_haversine(Z / np.linalg.norm(Z, axis=1, keepdims=True), Y)[0]

    numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6
    np.testing.assert_allclose((slope * V).sum(axis=1), numeric, rtol=1e-5, atol=1e-6)


def test_illustration_is_closer_than_the_naive_fit():
    for seed in range(5):
        for result in illustration.run(seed):
            assert result.degrees_off(GEODESIC) < result.degrees_off(NAIVE)
            assert result.degrees_off(GEODESIC) < 4.0 * np.degrees(result.fits[GEODESIC].std_errors_.mean_direction)
            assert 0.5 < 1.0 - result.seen.mean() < 0.85


def test_kernel_density_of_origins():
    X = tmsm.VonMisesFisher().sample(
        400, random_state=0, mean_direction=tmsm.lonlat_to_xyz(-50.0, 25.0), concentration=60.0
    )
    lon, lat, density, levels = origins.density_levels(X, (-110.0, 0.0), (-10.0, 60.0))
    cell = np.radians(lon[1] - lon[0]) * np.radians(lat[1] - lat[0]) * np.cos(np.radians(lat))[:, None]
    assert (density * cell).sum() == pytest.approx(1.0, abs=0.01)
    for share, level in zip(origins.SHARES, levels, strict=True):
        assert (density * cell)[density >= level].sum() == pytest.approx(share, abs=0.02)
    assert levels == sorted(levels)


def test_storms_of_the_package():
    rows = {(r["border"], r["method"]): r for r in storms.run(Store(None), 1, None)}
    naive, ours = rows["50m", NAIVE], rows["50m", GEODESIC]
    assert int(ours["rows"]) == 1264
    assert float(naive["longitude"]) == pytest.approx(-86.8, abs=0.1)
    assert float(naive["latitude"]) == pytest.approx(33.6, abs=0.1)
    assert float(ours["longitude"]) == pytest.approx(-79.5, abs=0.1)
    assert float(ours["latitude"]) == pytest.approx(16.0, abs=0.1)
    assert float(ours["km_to_origins"]) < float(naive["km_to_origins"])
    assert float(ours["km_inside"]) < 0.0 < float(naive["km_inside"])


def test_the_page_is_what_the_tables_say():
    assert page.page(Results(DOCS / "reproduction")) == (DOCS / "reproduction.md").read_text()


def test_the_page_without_the_agencys_files(tmp_path):
    (tmp_path / "tables").mkdir()
    for path in (DOCS / "reproduction" / "tables").glob("*.csv"):
        if path.stem not in ("storm_events", "variants"):
            (tmp_path / "tables" / path.name).write_bytes(path.read_bytes())
    text = page.page(Results(tmp_path))
    assert "--data FOLDER" in text
    assert text.count(f"**{claims.OPEN}**") == 6


def test_recorded_numbers_of_the_storm_study():
    # Our own first look at the paper's data, border 50m.
    rows = {(r["catalogue"], r["border"], r["method"]): r for r in Results(DOCS / "reproduction").read("storm_events")}
    for name, method, lon, lat in (
        ("events", NAIVE, -89.8, 38.8),
        ("events", GEODESIC, -84.5, 36.8),
        ("fatal events", NAIVE, -91.0, 37.0),
        ("fatal events", GEODESIC, -78.4, 23.1),
    ):
        row = rows[name, "50m", method]
        assert float(row["longitude"]) == pytest.approx(lon, abs=0.1)
        assert float(row["latitude"]) == pytest.approx(lat, abs=0.1)


def tmsm_command(*arguments, cwd, interrupt_after=None):
    command = [sys.executable, "-c", "from tmsm.cli import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def keep_as_finished(folder, names):
    """Put families into the store with recorded numbers: they take long, and the command must not compute them."""
    store, recorded = Store(folder / "cells"), {r["family"]: r for r in Results(DOCS / "reproduction").read("families")}
    for name in names:
        row = recorded[name]
        cell = families.Cell("cyclones", name, catalogues.Files.of(None))
        row["held_out_by_group"] = " ".join(["17.0"] * int(row["groups"]))
        store.write(cell.name, [row])


def test_the_command_writes_the_whole_set(tmp_path):
    computed = (families.PAPER, families.LIKELIHOOD, families.TWO)
    keep_as_finished(tmp_path / "here" / "reproduction", [name for name in families.FAMILIES if name not in computed])
    done = tmsm_command("reproduce", "all", "--out", "here", "--trials", "2", "--jobs", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    figures = {path.name for path in (tmp_path / "here" / "reproduction" / "figures").iterdir()}
    names = ("illustration", "accuracy", "accuracy_concentration", "projection", "cyclones", "families")
    assert figures == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    tables = tmp_path / "here" / "reproduction" / "tables"
    for name in ("illustration", "accuracy", "projection", "cyclones", "errata", "families"):
        assert (tables / f"{name}.md").read_text().splitlines()[-1].startswith("| ")
        with (tables / f"{name}.csv").open(newline="") as file:
            assert len(list(csv.DictReader(file))) > 2
    assert (tmp_path / "here" / "reproduction.md").read_text().startswith("# The paper, reproduced")
    assert "Families: 3 of 10 parts to compute" in done.stderr
    again = tmsm_command("reproduce", "errata", "--out", "here", "--jobs", "2", cwd=tmp_path)
    assert "0 of 160 parts to compute" in again.stderr


BAD_CALLS = {
    ("reproduce", "everything"): "'everything' is not one of",
    ("reproduce", "storms", "--data", "absent"): "'absent' does not exist",
    ("reproduce", "storms", "--data", "empty"): "The folder 'empty' holds no Storm Events files",
    ("reproduce", "accuracy", "--trials", "1"): "'--trials': '1' must be a whole number of at least 2",
    ("reproduce", "illustration", "--out", "file"): "'file' is a file",
    ("nonsense",): "No such command 'nonsense'",
}


@pytest.mark.parametrize("arguments", BAD_CALLS, ids=" ".join)
def test_bad_calls_end_in_one_line(tmp_path, arguments):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    done = tmsm_command(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("tmsm: ")
    assert BAD_CALLS[arguments] in done.stderr


def test_help_and_version(tmp_path):
    for arguments in ((), ("--help",), ("reproduce", "--help")):
        done = tmsm_command(*arguments, cwd=tmp_path)
        assert done.returncode == 0
        assert done.stdout.startswith("Usage: ")
    assert tmsm_command("--version", cwd=tmp_path).stdout.strip() == f"tmsm {tmsm.__version__}"
