"""Every tutorial runs, its page shows what it does, and what it says about its results is true.

The code on these pages is marked "py", not "python", so that it runs here once, and not with the other pages as well.
"""

import re

import nbformat
import numpy as np
import pytest

from tools import notebooks
from tools.build_tutorials import NAMES, PAGES, SOURCES, page, pictures, write_notebooks

NUMBER = re.compile(r"[−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def said(text):
    """A page without what the code showed."""
    return re.sub(
        r"```text\n.*?```\n\n|<div>.*</div>\n\n|!\[.*\]\(.*\)\n\n|<!-- \w+ -->\n\n", "", text, flags=re.DOTALL
    )


def words_and_numbers(text):
    """What a page says, with the numbers apart; without what differs between machines, and without widths of tables."""
    text = re.sub(r"<!-- varies -->.*?<!-- end -->", "", text, flags=re.DOTALL)
    words = re.sub(r"[\s─]+", " ", NUMBER.sub("#", text))
    return words, [float(number.replace(",", "").replace("−", "-")) for number in NUMBER.findall(text)]


def check_same(shown, stored):
    assert said(shown) == said(stored)
    (words, numbers), (stored_words, stored_numbers) = map(words_and_numbers, (shown, stored))
    assert words == stored_words
    np.testing.assert_allclose(numbers, stored_numbers, rtol=0.02, atol=0.011)


def off_by(found, error, truth):
    return np.max(np.abs(np.asarray(found) - truth) / np.asarray(error))


def galactic_centre(n):
    limits, found = n["limits"], n["found"]
    assert n["distance"](n["naive"]) > 3 * np.degrees(n["naive"].std_errors_.mean_direction)
    assert n["distance"](n["fit"]) < np.degrees(n["fit"].std_errors_.mean_direction)
    assert n["fit"].std_errors_.mean_direction > n["naive"].std_errors_.mean_direction
    assert n["fit"].goodness_of_fit_.p_value > 0.1
    assert n["fit"].covers(n["sagittarius"])
    assert not n["naive"].covers(n["sagittarius"])
    south = limits <= -28
    assert np.ptp(found[south], axis=1).max() < 7.0
    assert (np.diff(found[~south, 2]) > -0.1).all()
    assert found[~south, :2].max() < 30.0
    assert set(limits[np.argsort(found[:, 0])[:2]]) == {-20, -18}
    others = found[~np.isin(limits, (-20, -18)), 0]
    assert 3.5 < others.min() < others.max() < 27.5


def coast(n):
    fits, best, truth = n["fits"], n["best"], n["TRUTH"]
    assert 40.0 < 6371.0 * n["first"].std_errors_.mean_direction < 55.0
    p = {name: one.goodness_of_fit_.p_value for name, one in fits.items()}
    assert max(p["one round"], p["one oval"]) < 1e-10
    assert 0.01 < p["Fisher–Bingham"] < 0.05
    assert min(p["two round"], p["three round"], p["two and background"]) > 0.2
    assert fits["two and background"].params_.background_share < 1e-9
    assert fits["Fisher–Bingham"].log_likelihood_ < best.log_likelihood_
    others = [one.bic_ for name, one in fits.items() if name != "two round"]
    assert min(others) - best.bic_ > 5.0
    assert [one.name for one in n["table"]] == ["two round", "three round", "Fisher–Bingham", "one oval", "one round"]
    far = {one.name: one.extrapolations["500–1000 km"] for one in n["table"]}
    oval, narrow = far["one oval"], far["one round"]
    assert 6.5 < (oval.value - narrow.value) / np.hypot(oval.std_error, narrow.std_error) < 7.5
    for one in (far["three round"], far["Fisher–Bingham"]):
        assert abs(one.value - far["two round"].value) < one.std_error
    assert far["two round"].std_error / far["two round"].value > 0.18
    near = [one.extrapolations["0–250 km"].value for one in n["table"][:3]]
    assert np.ptp(near) < 0.03
    assert all(0.25 < one < 0.35 for one in near)
    for name, ring in n["rings"].items():
        counted = ring.contains(n["all_birds"]).sum() / len(n["X"])
        predicted = best.extrapolate(ring)
        assert off_by(predicted.value, predicted.std_error, counted) < 1.6
        if name == "500–1000 km":
            assert 1.8 < oval.value / counted < 2.2
    for name in ("shares", "concentration"):
        assert off_by(best.params_[name], best.std_errors_[name], truth[name]) < 1.6
    away = np.linalg.norm(best.params_.mean_direction - truth["mean_direction"], axis=1)
    assert (away < 1.6 * best.std_errors_.mean_direction).all()


def density_map(n):
    results = n["results"]
    assert n["smooth"].held_out_ > n["kernels"].held_out_
    assert results["ordinary map"][0] > 5 * max(results["smooth map"][0], results["kernel map"][0])
    assert 1.8 < np.exp(-results["ordinary map"][1]) < 2.2
    assert results["ordinary map"][1] < results["kernel map"][1] < results["smooth map"][1] < 0.0
    assert n["covered"]["kernel map"] < 0.9 < n["covered"]["smooth map"]
    assert n["low"] < n["strip"].contains(n["new"]).mean() < n["high"]
    assert abs(n["half"].contains(n["new"]).mean() - 0.5) < 0.03


def own_manifold(n):
    assert off_by(n["fit"].params_.coefficients, n["fit"].std_errors_.coefficients, n["TRUTH"]) < 1.6
    assert n["fit"].goodness_of_fit_.p_value > 0.1
    assert n["ignoring"].params_.coefficients[2] > 10 * n["ignoring"].std_errors_.coefficients[2]
    assert np.abs(n["away"].mean(axis=0)).max() < 0.25
    assert np.abs(n["away"].std(axis=0) - 1.0).max() < 0.15
    assert ((np.abs(n["away"]) < 1.96).mean(axis=0) > 0.9).all()
    found, error, truth = ([one[name] for name in n["true_values"]] for one in (
        n["other"].params_, n["other"].std_errors_, n["true_values"]))  # fmt: skip
    assert off_by(found, error, truth) < 2.0
    assert n["wrong"].goodness_of_fit_.p_value < 1e-10 < 0.1 < n["other"].goodness_of_fit_.p_value


def large_table(n):
    memory = n["memory"]
    assert memory[8][1] > 3.9 * memory[2][1]
    assert memory[8][0] - memory[2][0] < 0.25 * (memory[8][1] - memory[2][1])
    assert memory[8][0] < 0.5 * memory[8][1]
    errors = [one.std_errors_.concentration for one in (n["fit"], n["grouped"])]
    assert np.isclose(*errors, rtol=0.1)


STATEMENTS = {
    "galactic_centre": galactic_centre,
    "coast": coast,
    "density_map": density_map,
    "own_manifold": own_manifold,
    "large_table": large_table,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_what_the_tutorial_does(name, monkeypatch, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    cells, variables = notebooks.run(SOURCES / f"{name}.py", tmp_path)
    check_same(page(name, cells), (PAGES / f"{name}.md").read_text(encoding="utf-8"))
    assert len(pictures(cells)) == len(list((PAGES / name).glob("*.png"))) > 0
    assert all(cell.about.get("alt") for cell in cells if cell.pictures)
    STATEMENTS[name](variables)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_notebook_with_links_that_lead_somewhere(name, tmp_path):
    folder = tmp_path / "build" / "notebooks"
    write_notebooks(folder)
    notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert [cell.source for cell in notebook.cells if cell.cell_type == "code"] == [
        cell.source for cell in notebooks.read(SOURCES / f"{name}.py") if cell.is_code
    ]
    assert 10 <= sum(cell.cell_type == "code" for cell in notebook.cells) <= 20
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)#]+)", text):
        if target.endswith(".ipynb"):
            assert (folder / target).exists(), target
        else:
            assert (SOURCES.parent / target.removeprefix("../../")).exists(), target


def test_the_overview_lists_every_tutorial():
    assert {path.stem for path in SOURCES.glob("*.py")} == set(NAMES) == set(STATEMENTS)
    assert {path.stem for path in PAGES.glob("*.md")} == {*NAMES, "index"}
    overview = (PAGES / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[.*?\]\((\w+)\.md\)", overview, flags=re.MULTILINE) == list(NAMES)


def test_another_number_or_another_word_on_a_page_is_noticed():
    stored = "Text.\n\n```py\nx = 1.0\n```\n\n```text\nκ = 5.99 ± 0.14\n```\n\n![words](a/1.png)\n"
    check_same(stored.replace("5.99", "5.9901"), stored)
    for old, new in (("5.99", "6.2"), ("κ", "β"), ("1.0", "1.001"), ("Text", "Words"), ("```py\nx = 1.0\n```\n\n", "")):
        with pytest.raises(AssertionError):
            check_same(stored.replace(old, new), stored)
