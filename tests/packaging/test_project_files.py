"""What several files of the project say of one thing, its version or its dependencies, is the same in all of them."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import tmsm

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
METADATA = PROJECT["project"]
EXTRAS = METADATA["optional-dependencies"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(METADATA["classifiers"]))
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe" / "recipe.yaml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Packages of conda that have another name: each is the part without what tmsm does not need.
CONDA_NAMES = {"astropy": "astropy-base", "dask": "dask-core", "matplotlib": "matplotlib-base"}
# CuPy is there where users' arrays are CuPy's; the extra dask[distributed] brings `distributed`; the study of weights,
# which `make study` runs, reads the folder `scenarios` of a checkout.
ELSEWHERE = {"cupy", "distributed", "scenarios"}
# `make peers` installs the packages that it measures.
PEERS = ROOT / "experiments" / "tmsm_experiments" / "peers" / "requirements.txt"


def requirements(names):
    """The requirements of extras, None for those that everybody needs, with those of extras that they name."""
    found = {}
    for name in names:
        for text in METADATA["dependencies"] if name is None else EXTRAS[name]:
            one = Requirement(text)
            if one.name == "tmsm":
                found |= requirements(one.extras)
            else:
                found[canonicalize_name(one.name)] = one
    return found


def lowest(requirement):
    """The lower bound, which is the only one that a requirement has."""
    (bound,) = requirement.specifier
    assert bound.operator == ">=", requirement
    return Version(bound.version)


def imported(folder):
    """The first names of all that the files of a folder import."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def test_the_extra_all_holds_every_extra_that_is_not_for_work_on_the_project():
    own = set(EXTRAS) - {"all", "check", "docs", "test"}
    assert Requirement(*EXTRAS["all"]).extras == own
    assert requirements(["all"]).items() <= requirements(["test"]).items()
    page = (ROOT / "docs" / "index.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)) == own | {"all"}


@pytest.mark.parametrize("folder", ["src/tmsm", "experiments/tmsm_experiments"])
def test_every_package_that_is_imported_is_a_dependency(folder):
    names = {canonicalize_name(name) for name in imported(ROOT / folder)}
    names = {{"sklearn": "scikit-learn"}.get(name, name) for name in names}
    known = {canonicalize_name(name) for name in (*sys.stdlib_module_names, "tmsm", "tmsm_experiments")}
    peers = {canonicalize_name(name) for name in re.findall(r"^[\w-]+", PEERS.read_text(), flags=re.MULTILINE)}
    assert "numpy" in names
    assert names - known - requirements([None, "all"]).keys() - ELSEWHERE - peers == set()


def test_extras_that_messages_name_exist():
    named = {
        extra
        for path in (ROOT / "src").rglob("*.py")
        for extras in re.findall(r"tmsm\[(\w+(?:,\w+)*)\]", path.read_text())
        for extra in extras.split(",")
    }
    assert {"geo", "plot", "report"} < named
    assert named - set(EXTRAS) == set()


def test_the_oldest_versions_are_the_lower_bounds():
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    pins = [Requirement(line.partition("#")[0]) for line in lines if line.partition("#")[0].strip()]
    pinned = {canonicalize_name(one.name): one for one in pins}
    assert len(pinned) == len(pins)
    bounds = {name: lowest(one) for name, one in requirements([None, "test"]).items()}
    assert len(bounds) > 25
    for name, bound in bounds.items():
        (pin,) = pinned.pop(name).specifier
        assert (pin.operator, Version(pin.version)) == ("==", bound), name
    unexplained = [one for one in pinned if not any(line.startswith(one) and "#" in line for line in lines)]
    assert unexplained == []  # what is no dependency of its own is there for a reason, which stands beside it


def test_what_builds_the_package_is_what_tests_build_it_with():
    (builder,) = map(Requirement, PROJECT["build-system"]["requires"])
    assert builder == requirements(["test"])["hatchling"]


def test_versions_of_python_agree():
    assert METADATA["requires-python"] == f">={PYTHONS[0]}"
    assert [Version(one).minor for one in PYTHONS] == list(range(11, 11 + len(PYTHONS)))
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{PYTHONS[0].replace('.', '')}"
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            versions = job.get("strategy", {}).get("matrix", {}).get("python-version", PYTHONS)
            assert versions == PYTHONS, path.name


def newest_release():
    """The version and the day of the newest release of the changelog."""
    return re.findall(r"^## \[(\d[^]]*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[0]


def test_every_file_says_the_same_version():
    version, day = newest_release()
    assert version == tmsm.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], str(citation["date-released"])) == (version, day)
    assert RECIPE["context"]["version"] == version
    wheels = re.findall(r"tmsm-([\d.]+)-py3", (ROOT / "docs" / "index.md").read_text())
    assert wheels
    assert set(wheels) == {version}


def test_the_citation_is_of_the_authors_and_names_the_article():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["authors"] == METADATA["authors"]
    assert (citation["license"], citation["keywords"]) == (METADATA["license"], METADATA["keywords"])
    (article,) = citation["references"]
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert article["title"] in readme
    (identifier,) = article["identifiers"]
    assert identifier["value"].replace(":", " ") in readme


def conda(*names):
    """What conda calls the requirements of extras."""
    return {f"{CONDA_NAMES.get(name, name)} {one.specifier}" for name, one in requirements(names).items()}


def test_the_conda_recipe_asks_for_the_same_packages():
    needed = RECIPE["requirements"]
    python = f"python {METADATA['requires-python']}"
    assert set(needed["run"]) == {python} | conda(None, "plot", "report")
    assert set(needed["run_constraints"]) == conda("all") - conda("plot", "report")
    (builder,) = map(Requirement, PROJECT["build-system"]["requires"])
    assert set(needed["host"]) == {python, "pip", f"{builder.name} {builder.specifier}"}


def test_the_conda_recipe_builds_this_package():
    assert RECIPE["package"] == {"name": METADATA["name"], "version": "${{ version }}"}
    place = ROOT / "conda" / "recipe" / RECIPE["source"]["path"]
    assert (place / "pyproject.toml").samefile(ROOT / "pyproject.toml")
    commands = [f"{name} = {target}" for name, target in METADATA["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == commands
    assert RECIPE["about"]["license"] == METADATA["license"]
    assert RECIPE["about"]["summary"] == METADATA["description"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_that_exist(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    jobs = yaml.safe_load(path.read_text())["jobs"]
    asked = [word for job in jobs.values() for step in job.get("steps", ()) for word in step.get("run", "").split("\n")]
    asked = [line.split()[1] for line in asked if line.startswith("make ")]
    assert asked
    assert set(asked) - targets == set()
    for needs in (job.get("needs", []) for job in jobs.values()):
        assert set(needs) <= set(jobs)


def test_a_release_is_published_without_a_password_after_its_tests():
    content = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    publish = content["jobs"]["publish"]
    assert set(publish["needs"]) == set(content["jobs"]) - {"publish"}
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"]
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_the_help_shows_every_target():
    text = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    described = re.findall(r"^([a-z-]+):.*## ", text, flags=re.MULTILINE)
    assert sorted(described) == sorted(phony.split())
    (pattern,) = re.findall(r"/\^(\[.*?\]\+):", text)
    assert all(re.fullmatch(pattern, name) for name in described)
