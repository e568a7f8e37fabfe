"""The page on other packages shows the recorded results, and a run goes on where a package is missing."""

import importlib.util
import json
import re

import numpy as np
import pytest
import scipy
from packaging.version import Version

import tmsm
from tmsm_experiments.peers import features, jobs, measure, method, report, summary
from tmsm_experiments.peers.method import Method

FOUND = report.read()
PAGE = report.PAGE.read_text(encoding="utf-8")
MU = np.array([0.0, 0.0, 1.0])


def normal_mean(X):
    return {"centre": X.mean(axis=0) / np.linalg.norm(X.mean(axis=0)), "size": 5.0}


def raises(X):
    raise ZeroDivisionError


def job(*methods, seeds=3):
    def rows(seed):
        return tmsm.VonMisesFisher().sample(100, random_state=seed, mean_direction=MU, concentration=5.0)

    def errors(found, _):
        return {"centre": float(np.linalg.norm(found["centre"] - MU)), "size": found["size"] - 5.0}

    return jobs.Job("fits", "A group", "a job", rows, errors, list(methods), seeds, 1)


OURS = Method("tmsm", "`ours`", normal_mean)


def test_the_tables_are_those_of_the_results():
    assert report.page_text(PAGE, FOUND) == PAGE


def test_every_job_is_recorded_with_every_package():
    recorded = {one["name"]: one["methods"] for one in FOUND["jobs"]}
    known = jobs.jobs()
    assert list(recorded) == [one["name"] for one in FOUND["jobs"]] == [one.name for one in known]
    assert [one["samples"] for one in FOUND["jobs"]] == [one.seeds for one in known]
    for one in known:
        rows = recorded[one.name]
        assert [(row["package"], row["call"]) for row in rows] == [(own.package, own.call) for own in one.methods]
    measured = {row["package"] for rows in recorded.values() for row in rows if "note" not in row}
    assert measured == {name for name, version in FOUND["versions"].items() if version}
    assert "tmsm" in measured


def test_words_outside_the_tables_have_no_measured_numbers():
    part = PAGE.split("## Measured")[1].split("## Coming from R")[0]
    words = re.sub(r"<!-- measured: (\w+) -->.*?<!-- end of \1 -->", "", part, flags=re.DOTALL)
    assert re.findall(r"\d", words) == []


def test_sentences_have_numbers_of_the_results():
    said = summary.summary(FOUND)
    changed = json.loads(json.dumps(FOUND))
    for one in changed["jobs"]:
        for row in one["methods"]:
            if "time" in row:
                row["time"] *= 3.0
                row["errors"] = {
                    name: {kind: 0.4 * value for kind, value in by_kind.items()}
                    for name, by_kind in row["errors"].items()
                }
    changed["scipy_wrong_from"] = None
    other = summary.summary(changed)
    for before, after in zip(said.split("\n- "), other.split("\n- "), strict=True):
        assert before != after
    fault = f"From {FOUND['scipy_wrong_from']} coordinates on SciPy"
    assert (fault in " ".join(said.split())) == (FOUND["scipy_wrong_from"] is not None)
    assert "coordinates on SciPy" not in " ".join(other.split())


def rows_of(name, package):
    """Lines of a package in the jobs whose name has these words, in the order of the page."""
    return [row for one in FOUND["jobs"] if name in one["name"] for row in one["methods"] if row["package"] == package]


def test_words_beside_the_tables_hold_for_the_results():
    # The error of a root mean square from n samples is about a share 1/√(2n) of it.
    samples = [one["samples"] for one in FOUND["jobs"] if "Two normals" in one["name"]]
    pairs = zip(rows_of("Two normals", "pygmmis"), rows_of("Two normals", "tmsm"), samples, strict=True)
    for theirs, ours, n in pairs:
        away, own = (row["errors"]["centre"]["rms"] for row in (theirs, ours))
        assert abs(away - own) < 2.0 * np.hypot(away, own) / np.sqrt(2.0 * n)
        assert theirs["time"] > 2.0
    biases = [row["errors"]["size"] for row in rows_of("hemisphere with the centre", "SciPy")]
    assert len(biases) == 2
    assert abs(biases[1]["mean"] / biases[0]["mean"] - 1.0) < 0.05
    assert all(bias["mean"] > 50.0 * bias["error"] for bias in biases)
    assert all(row["time"] < 1.0 for row in rows_of("n = 1,000", "SciPy") if "vonmises_fisher" in row["call"])


@pytest.mark.parametrize("gone", [name for name in method.PACKAGES if name != "tmsm"])
def test_sentences_are_written_without_a_package(gone):
    found = json.loads(json.dumps(FOUND))
    for one in found["jobs"]:
        one["methods"] = [
            {"package": row["package"], "call": row["call"], "note": method.NOT_INSTALLED}
            if row["package"] == gone
            else row
            for row in one["methods"]
        ]
    found["versions"][gone] = None
    found["scipy_wrong_from"] = None
    text = report.page_text(PAGE, found)
    assert f"| {gone} | " in text
    assert f"not measured: {method.NOT_INSTALLED}" in text
    assert gone not in summary.summary(found)
    assert gone in summary.summary(FOUND) or FOUND["versions"][gone] is None


def test_a_missing_package_has_a_line_that_says_so(monkeypatch):
    monkeypatch.setitem(method.PACKAGES, "pygmmis", ("no-such-package", "no_such_package"))
    found = measure.measure(job(OURS, Method("pygmmis", "`fit`", normal_mean)))
    ours, other = found["methods"]
    assert other == {"package": "pygmmis", "call": "`fit`", "note": "could not be installed"}
    assert ours["time"] == 1.0
    assert "| pygmmis | `fit` | not measured: could not be installed |  |  |  |" in report.measured_table(
        "fits", [found]
    )
    assert method.versions()["pygmmis"] is None
    if Version(scipy.__version__) >= Version(FOUND["versions"]["SciPy"]):  # older ones do not have all of its names
        assert features.gone() == []


def test_a_package_that_cannot_be_imported_or_raises_has_a_line_that_says_so(monkeypatch, tmp_path):
    (tmp_path / "broken_peer.py").write_text("raise ImportError('needs something old')\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.setitem(method.PACKAGES, "geomstats", ("broken-peer", "broken_peer"))
    found = measure.measure(job(OURS, Method("geomstats", "`mean`", normal_mean), Method("tmsm", "`raises`", raises)))
    assert found["methods"][1]["note"] == "cannot be imported: ImportError: needs something old"
    assert found["methods"][2]["note"] == "raised ZeroDivisionError"


def test_errors_are_summarised():
    found = measure.measure(job(OURS, seeds=4))["methods"][0]
    assert found["failed"] == 0
    assert found["errors"]["size"] == {"mean": 0.0, "error": 0.0, "rms": 0.0}
    centre = found["errors"]["centre"]
    assert 0.0 < centre["mean"] <= centre["rms"] < 0.5
    assert np.isclose(centre["rms"] ** 2, centre["mean"] ** 2 + 3.0 * centre["error"] ** 2, rtol=2e-3)
    assert measure.processor_seconds(lambda: sum(range(1_000_000))) > 0.0


def test_a_job_that_is_measured_again_takes_the_place_of_its_results(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results.json")
    names = ["first", "second"]
    report.record({"date": "2026-01-01"}, {"name": "second", "samples": 1}, names)
    report.record({"date": "2026-01-02"}, {"name": "first", "samples": 1}, names)
    report.record({"date": "2026-01-03"}, {"name": "second", "samples": 2}, names)
    jobs_now = [{"name": "first", "samples": 1}, {"name": "second", "samples": 2}]
    assert report.read() == {"date": "2026-01-03", "jobs": jobs_now}


def test_methods_of_packages_that_are_here_take_the_rows():
    installed = {name for name, (_, module) in method.PACKAGES.items() if importlib.util.find_spec(module) is not None}
    assert {"SciPy", "tmsm"} <= installed
    for one in jobs.cut_clusters():
        rows = one.rows(0)
        for own in one.methods:
            if own.package in ("SciPy", "tmsm"):
                errors = one.errors(own(rows), rows)
                assert (errors["centre"] < 5.0) == (own.package == "tmsm"), own.call
        break


def test_the_list_of_packages_is_that_of_the_page():
    lines = (report.RESULTS.parent / "requirements.txt").read_text(encoding="utf-8").splitlines()
    asked = [re.split(r"[<>=\s]", line)[0] for line in lines if line and not line.startswith("#")]
    assert asked == ["numpy", *(distribution for name, (distribution, _) in method.PACKAGES.items() if name != "tmsm")]
