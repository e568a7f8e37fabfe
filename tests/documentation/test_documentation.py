"""Every example in the documentation runs: docstrings, README, the contributor's guide, the examples."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import tmsm

ROOT = Path(__file__).parents[2]
MODULES = [module.name for module in pkgutil.walk_packages(tmsm.__path__, "tmsm.")]
PAGES = ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").glob("*.md")))]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_code_on_pages_runs(page, monkeypatch, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)  # where pages may write their files
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks or page.startswith("docs/")
    namespace = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", [str(example), str(tmp_path / "picture.png")])
    monkeypatch.setenv("MPLBACKEND", "Agg")
    runpy.run_path(str(example), run_name="__main__")
    assert re.search("ScoreMatching|DensityMap", capsys.readouterr().out)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_gallery_shows_the_examples_as_they_are():
    module = runpy.run_path(str(ROOT / "tools" / "build_gallery.py"))
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(module["ORDER"])
    assert module["page"]() == (ROOT / "docs" / "gallery.md").read_text()


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    assert [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in navigation] == []


def test_commands_on_the_pages_are_commands_that_exist():
    from tmsm.cli.app import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    for page in PAGES:
        for name in re.findall(r"^\$ tmsm (\w+)", (ROOT / page).read_text(), flags=re.MULTILINE):
            assert name in known, (page, name)


def test_documented_choices_are_the_codes():
    from tmsm.data import rows

    text = (ROOT / "docs" / "conventions.md").read_text()
    assert f"{rows._SAMPLE_ROWS:,} rows" in text
    assert tmsm.Sphere._TOLERANCE == 2e-6
    assert "2·10⁻⁶" in text


def test_tables_of_the_study_are_those_of_its_results():
    from tmsm_experiments.weights import report
    from tmsm_experiments.weights.results import read

    page = report.PAGE.read_text()
    assert report.write_page(page, report.tables(read())) == page


def test_the_table_of_coverage_is_that_of_its_results():
    from tmsm_experiments.coverage import report
    from tmsm_experiments.coverage.settings import settings

    rows = report.read()
    names = [one.name for one in settings()]
    assert list(rows) == names
    assert len(set(names)) == len(names) >= 120
    assert all(int(row["seeds"]) >= 300 for row in rows.values())
    assert report.unexplained(list(rows.values())) == (set(), set())
    page = report.PAGE.read_text(encoding="utf-8")
    assert report.page_text(page) == page


def test_a_share_outside_its_bounds_is_noticed():
    from tmsm_experiments.coverage import report

    row = dict.fromkeys(["region covers", "interval lowest", "interval highest"], "0.95")
    row |= {"seeds": "300", "failed": "0", "test rejects": "0.05"}
    assert report.exceptions(row) == []
    assert report.exceptions(row | {"region covers": "0.86"}) == ["region covers"]
    assert report.exceptions(row | {"test rejects": "0.12"}) == ["test rejects"]
    assert report.exceptions(row | {"interval highest": "0.999"}) == ["interval highest"]
    assert report.exceptions(row | {"region covers": "0.90", "failed": "0"}) == []
    assert report.exceptions(row | {"region covers": "0.90", "seeds": "3000"}) == ["region covers"]
