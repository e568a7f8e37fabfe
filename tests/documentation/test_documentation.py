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
def test_code_on_pages_runs(page):
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
def test_examples_run(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert "ScoreMatching" in capsys.readouterr().out


def test_documented_choices_are_the_codes():
    from tmsm import rows

    text = (ROOT / "docs" / "conventions.md").read_text()
    assert f"{rows._SAMPLE_ROWS:,} rows" in text
    assert tmsm.Sphere._TOLERANCE == 2e-6
    assert "2·10⁻⁶" in text


def test_tables_of_the_study_are_those_of_its_results():
    from tmsm_experiments.weights import report
    from tmsm_experiments.weights.results import read

    page = report.PAGE.read_text()
    assert report.write_page(page, report.tables(read())) == page
