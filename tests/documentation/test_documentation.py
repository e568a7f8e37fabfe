"""Every example in the documentation runs: docstrings, README, the contributor's guide, the examples."""

import doctest
import importlib
import pkgutil
import re
import runpy
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import tmsm

ROOT = Path(__file__).parents[2]
MODULES = [module.name for module in pkgutil.walk_packages(tmsm.__path__, "tmsm.")]
PAGES = [str(path.relative_to(ROOT)) for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md")))]
PAGES = [page for page in PAGES if not page.startswith("docs/reproduction/")]  # tables that a page includes


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_code_on_pages_runs(page, monkeypatch, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)  # where pages may write their files
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks or page not in ("README.md", "CONTRIBUTING.md")
    namespace = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


def anchors(text):
    """The addresses of a page's headings, as the site makes them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    plain = [unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode() for title in titles]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_exist(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
        there = ((ROOT / page).parent / target).resolve()
        assert there.exists(), target
        if page.startswith("docs/"):
            assert there.is_relative_to(ROOT / "docs"), f"{target} is no part of the site"
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text):
        there = ((ROOT / page).parent / target).read_text() if target else text
        assert anchor in anchors(there), f"{target}#{anchor}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_a_page_begins_with_its_purpose_and_ends_with_where_to_go(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    first = text.split("\n\n")[1]
    assert re.match(r"[A-Z`*\[]", first), first
    assert len(first.split()) >= 10, first
    last = re.split(r"^## ", text, flags=re.MULTILINE)[-1]
    assert last.startswith("Where to go next")
    assert len(re.findall(r"\]\(", last)) >= 2


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", [str(example), str(tmp_path / "picture.png")])
    monkeypatch.setenv("MPLBACKEND", "Agg")
    runpy.run_path(str(example), run_name="__main__")
    assert re.search("ScoreMatching|DensityMap", capsys.readouterr().out)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_no_script_hides_a_package_that_it_needs():
    """A script's folder comes first where Python looks: Numba would import a script named coverage.py."""
    folders = [str(ROOT / name) for name in ("docs/figures", "examples", "tutorials")]
    code = f"import sys; sys.path[:0] = {folders!r}; import tmsm, numba, matplotlib.pyplot; tmsm.ScoreMatching"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_gallery_shows_the_examples_as_they_are():
    from tools import build_gallery

    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(build_gallery.ORDER)
    assert build_gallery.page() == build_gallery.PAGE.read_text()


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = [page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")]
    assert [page for page in pages if f": {page}\n" not in navigation] == []


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


def test_the_sentences_of_the_status_on_the_page_are_those_of_the_code():
    page = (ROOT / "docs" / "checking.md").read_text(encoding="utf-8")
    table = page.split("## The sentences of the status")[1].split("## Where to go next")[0]
    shown = [phrase for line in table.splitlines() for phrase in re.findall('"([^"]+)"', line.split(" | ")[0])]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src" / "tmsm").rglob("*.py")))
    code = re.sub(r'"\s*\n\s*f?"', "", code).lower()  # strings that are written over several lines
    assert len(shown) > 45
    assert [phrase for phrase in shown if phrase.rstrip(".").lower() not in code] == []


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


def test_the_words_on_coverage_have_the_numbers_of_its_results():
    from tmsm_experiments.coverage import report

    text = report.PAGE.read_text(encoding="utf-8")
    words = re.sub("<!-- .*?<!-- end -->", "", text, flags=re.DOTALL)
    for line in report.overview(list(report.read().values())).splitlines()[2:]:
        _, _, n_settings, *_, within, _ = (cell.strip() for cell in line.split("|"))
        assert f"{within} of {n_settings}" in words, line


def test_every_setting_of_coverage_is_in_one_group_of_every_kind():
    from tmsm_experiments.coverage import groups, report

    rows = list(report.read().values())
    table = groups.groups_table(rows).splitlines()[2:]
    assert table[0].startswith(f"| **all settings** | {len(rows)} |")
    counts, titles = [], []
    for line in table[1:]:
        _, name, n_settings, *_ = (cell.strip() for cell in line.split("|"))
        if name.startswith("**"):
            titles.append(name.strip("*"))
            counts.append(0)
        else:
            counts[-1] += int(n_settings)
    assert titles == [title for title, _ in groups.GROUPINGS]
    assert counts == [len(rows)] * len(titles)
    flat = [100.0 * float(row["ellipse covers"]) for row in rows if row["centre"] == "flat"]
    (line,) = (line for line in table if line.startswith("| flat |"))
    assert f"{sum(flat) / len(flat):.1f} ({min(flat):.1f} to {max(flat):.1f})" in line


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
