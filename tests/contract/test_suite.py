"""The suite itself: importing it does no work, it stands apart from the benchmarks, and its quick part covers all."""

import ast
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import tmsm
from tests.laws import test_objective
from tests.registry import MODELS, PAIRS, REGIONS, covering, recipes_for, sampled

ROOT = Path(__file__).parents[2]

# Imports every module of the packages that are named and prints those that fit, draw or choose a weight meanwhile.
IMPORTS = """
import importlib, pkgutil, sys
import tmsm
from tmsm.estimators.base import Estimator
from tmsm.manifolds import Manifold
from tmsm.models import Model
from tmsm.weights import Weight, WeightPolicy

class Work(Exception):
    pass

def refuse(*args, **options):
    raise Work

def classes(top):
    yield top
    for one in top.__subclasses__():
        yield from classes(one)

for name in tmsm.__all__:
    getattr(tmsm, name)
for top, names in {
    Estimator: ("fit", "partial_fit"),
    Model: ("sample",),
    Manifold: ("uniform", "scattered"),
    Weight: ("resolve",),
    WeightPolicy: ("choose",),
}.items():
    for one in classes(top):
        for name in names:
            if name in vars(one):
                setattr(one, name, refuse)

for package in map(importlib.import_module, sys.argv[1:]):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        try:
            importlib.import_module(module.name)
        except Work:
            print(module.name)
"""


def modules_that_work_at_import(*packages, path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *packages],
        cwd=path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_no_module_fits_draws_or_chooses_a_weight_when_it_is_imported():
    assert modules_that_work_at_import("tests", "scenarios", path=ROOT) == []


PLANTED = {
    "score_matching": "tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP).fit([[0.0, 0.0, 1.0]])",
    "truncated": "tmsm.TruncatedMLE(tmsm.VonMisesFisher(), CAP).fit([[0.0, 0.0, 1.0]])",
    "naive": "tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit([[0.0, 0.0, 1.0]])",
    "stream": "tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP).partial_fit([[0.0, 0.0, 1.0]])",
    "rows": "tmsm.Kent().sample(5)",
    "places": "tmsm.Sphere(2).uniform(5)",
    "weight": "from tests.registry import PAIRS, resolved; resolved(*PAIRS[0])",
}


def test_a_module_that_does_would_be_seen(tmp_path):
    package = tmp_path / "planted"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "innocent.py").write_text("import tmsm\nCAP = tmsm.Cap([0.0, 0.0, 1.0], 1.0)\n")
    for name, line in PLANTED.items():
        (package / f"{name}.py").write_text(f"import tmsm\nfrom planted.innocent import CAP\n{line}\n")
    found = modules_that_work_at_import("planted", path=tmp_path)
    assert sorted(found) == sorted(f"planted.{name}" for name in PLANTED)


def imported(path):
    """The first names of all that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


@pytest.mark.parametrize(
    ("folder", "others"), [("tests", {"benchmarks"}), ("scenarios", {"benchmarks", "tests"}), ("benchmarks", {"tests"})]
)
def test_tests_and_benchmarks_meet_in_scenarios_alone(folder, others):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert [str(path.relative_to(ROOT)) for path in files if others & set(imported(path))] == []
    if folder != "scenarios":
        assert any("scenarios" in imported(path) for path in files)


@pytest.mark.slow
def test_the_figures_of_many_rows_are_measured_and_written_whole(tmp_path):
    begin, end = "<!-- measured: scale -->", "<!-- end of scale -->"
    page, history = tmp_path / "page.md", tmp_path / "history.jsonl"
    page.write_text(f"Before.\n\n{begin}\n\nold\n\n{end}\n\nAfter.\n")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", "--small", "--page", page, "--history", history],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith(f"Before.\n\n{begin}\n\n| figure | measured |")
    assert text.endswith(f"\n\n{end}\n\nAfter.\n")
    assert "old" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    titles = {row.split("**")[1] for row in rows if row.startswith("| **")}
    assert {"Threads", "Files", "Saved sums", "Tests of the model"} < titles
    (entry,) = map(json.loads, history.read_text().splitlines())
    assert len(entry["figures"]) == len(rows) - 2 - len(titles) == len(done.stdout.splitlines())


def test_figures_of_few_rows_do_not_come_to_the_page():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", "--small"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "another --page" in done.stderr


def test_an_import_would_be_seen_wherever_it_stands(tmp_path):
    path = tmp_path / "planted.py"
    for line in (
        "import benchmarks.speed",
        "from benchmarks import speed",
        "def f():\n    from benchmarks.speed import sample",
    ):
        path.write_text(f"{line}\n")
        assert "benchmarks" in imported(path)


def test_the_central_law_has_every_weight_of_a_region_and_on_the_sphere_every_pair_of_a_weight_and_a_model():
    triples = test_objective.TRIPLES
    for case in REGIONS:
        found = {repr(recipe) for other, recipe, _ in triples if other is case}
        left_out = case.name == "flat points" or all(model.manifold != case.region.manifold for model, _ in MODELS)
        assert found == (set() if left_out else {repr(recipe) for recipe in recipes_for(case)})
    pairs = {
        (repr(recipe), number)
        for case, recipe, number in triples
        if case.region.manifold == tmsm.Sphere(2) and case.region.has_border
    }
    recipes, numbers = (set(values) for values in zip(*pairs, strict=True))
    assert pairs == set(product(recipes, numbers))


@pytest.mark.parametrize("entries", [PAIRS, test_objective.TRIPLES], ids=["pairs", "triples"])
def test_the_quick_part_of_a_law_has_every_region_weight_and_model(entries):
    quick = [parameter.values for parameter in sampled(entries) if not parameter.marks]
    assert quick == covering(entries)
    assert len(quick) < 0.2 * len(entries)
    for k in range(len(entries[0])):
        assert {repr(entry[k]) for entry in quick} == {repr(entry[k]) for entry in entries}
