"""The wheel and the sdist: built, compared, installed outside of the checkout, and used there.

This must be fast and needs no network, so the environment is not wholly empty. It is a new one outside of the checkout
that holds the wheel alone; dependencies are those of the running environment, by links that leave out tmsm itself.
`make test-dist` does the same with dependencies from the registry.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import tmsm

ROOT = Path(__file__).parents[2]
SDIST, WHEEL = f"tmsm-{tmsm.__version__}.tar.gz", f"tmsm-{tmsm.__version__}-py3-none-any.whl"
UNPUBLISHED = (".ci/",)  # what only the machine of the repository runs
OPTIONAL = ("contourpy", "matplotlib", "mpl_toolkits", "plotly")


def run(*command, cwd, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(kind, source, out):
    run(sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", out, cwd=source)


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The folder of the sdist and of the wheel, built from the checkout."""
    out = tmp_path_factory.mktemp("dist")
    build("sdist", ROOT, out)
    build("wheel", ROOT, out)
    assert sorted(path.name for path in out.iterdir()) == [WHEEL, SDIST]
    return out


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def sdist_names(dist):
    with tarfile.open(dist / SDIST) as archive:
        assert all(member.isfile() or member.isdir() for member in archive)
        names = [member.name for member in archive if member.isfile()]
    top = SDIST.removesuffix(".tar.gz") + "/"
    assert all(name.startswith(top) for name in names)
    return {name.removeprefix(top) for name in names}


def test_the_sdist_holds_what_the_tests_and_the_documentation_need(sdist_names):
    wanted = {
        "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "PKG-INFO", "README.md", "constraints-oldest.txt",
        "docs/index.md", "docs/figures/galaxy.png", "mkdocs.yml", "pyproject.toml", "src/tmsm/py.typed",
        "tests/registry.py",
    }  # fmt: skip
    assert wanted - sdist_names == set()
    for folder in ("benchmarks", "docs", "examples", "experiments", "scenarios", "src", "tests", "tools", "tutorials"):
        there = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py")}
        assert there
        assert there - sdist_names == set()


def test_the_sdist_holds_nothing_but_files_of_the_repository(sdist_names):
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of the repository")
    safe = ("-c", f"safe.directory={ROOT}")  # whoever owns it
    listed = run(git, *safe, "ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT).split("\0")
    expected = {name for name in listed if name and (ROOT / name).exists() and not name.startswith(UNPUBLISHED)}
    assert sdist_names - {"PKG-INFO"} == expected


def test_no_cache_and_no_environment_is_published(dist, sdist_names):
    for name in (*sdist_names, *contents(dist / WHEEL)):
        parts = set(Path(name).parts)
        assert not parts & {"__pycache__", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "cells"}, name
        assert not any(part.startswith(".venv") for part in parts), name
        assert not name.endswith((".pyc", ".nbc", ".nbi", ".whl")), name


def test_the_wheel_is_that_of_the_sdist(dist, tmp_path):
    with tarfile.open(dist / SDIST) as archive:
        archive.extractall(tmp_path, filter="data")
    build("wheel", tmp_path / SDIST.removesuffix(".tar.gz"), tmp_path)
    assert contents(tmp_path / WHEEL) == contents(dist / WHEEL)


def test_the_wheel_holds_the_two_packages_whole(dist):
    found = contents(dist / WHEEL)
    for folder in (ROOT / "src" / "tmsm", ROOT / "experiments" / "tmsm_experiments"):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert found.pop(str(path.relative_to(folder.parent))) == path.read_bytes()
    info = f"tmsm-{tmsm.__version__}.dist-info"
    assert set(found) == {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt",
                                                        "licenses/LICENSE")}  # fmt: skip
    metadata = HeaderParser().parsestr(found[f"{info}/METADATA"].decode())
    assert (metadata["Name"], metadata["Version"]) == ("tmsm", tmsm.__version__)
    assert (metadata["Author"], metadata["License-Expression"]) == ("The tmsm developers", "MIT")
    assert metadata.get_payload() == (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def environment(dist, tmp_path_factory):
    """The `bin` of a new environment that holds the wheel alone."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", dist / WHEEL, cwd=home)
    return python.parent


def linked(folder, left_out=()):
    """A folder in which all packages of the running environment can be found, without tmsm and others."""
    folder.mkdir()
    for place in map(Path, sys.path):
        for package in place.iterdir() if place.name in ("site-packages", "dist-packages") else ():
            name = package.name.removeprefix("_").lower()
            if not name.startswith(("tmsm", *left_out)) and package.suffix != ".pth":
                target = folder / package.name
                if not target.exists():
                    target.symlink_to(package)
    return str(folder)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return linked(tmp_path_factory.mktemp("packages") / "all")


SHOW = """
from importlib.metadata import version
from importlib.resources import files
import tmsm, tmsm_experiments
print(tmsm.__version__, version("tmsm"), files("tmsm").joinpath("py.typed").is_file())
print(tmsm.__file__)
print(tmsm_experiments.__file__)
"""


def test_the_wheel_is_imported_from_where_it_was_installed(environment, packages, tmp_path):
    first, *places = run(environment / "python", "-c", SHOW, cwd=tmp_path, PYTHONPATH=packages).splitlines()
    assert first == f"{tmsm.__version__} {tmsm.__version__} True"
    assert len(places) == 2
    assert all(Path(place).is_relative_to(environment.parent) for place in places)


def test_the_command_and_its_demonstration(environment, packages, tmp_path):
    command = environment / "tmsm"
    assert run(command, "--version", cwd=tmp_path, PYTHONPATH=packages) == f"tmsm {tmsm.__version__}\n"
    shown = run(command, "demo", cwd=tmp_path, PYTHONPATH=packages, MPLBACKEND="Agg")
    assert "Open tmsm-demo/report.html in a browser." in shown
    written = {path.name for path in (tmp_path / "tmsm-demo").iterdir()}
    assert written == {"curve.png", "diagnostics.png", "report.html", "sky.png"}


def test_the_demonstration_without_the_extras_shows_its_tables_and_says_what_to_install(environment, tmp_path):
    done = subprocess.run(
        [environment / "tmsm", "demo"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": linked(tmp_path / "few", OPTIONAL)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "ignoring the border" in done.stdout
    assert done.stderr == (
        "tmsm: The report and the pictures need matplotlib and plotly: pip install 'tmsm[plot,report]'.\n"
    )
    assert not (tmp_path / "tmsm-demo").exists()
