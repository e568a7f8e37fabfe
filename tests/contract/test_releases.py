"""What earlier versions promised still holds: names, parameters, saved fits and sums.

tools/record_release.py records it.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import tmsm
from tmsm.display.record import FitRecord
from tmsm.errors import InvalidInputError, InvalidTypeError, TmsmDeprecationWarning
from tmsm.foundation.deprecation import Renamed, renamed_argument, renamed_method
from tools.record_release import RELEASES, command_surface, surface

SOURCE = Path(tmsm.__file__).parent
VERSIONS = sorted(path.name for path in RELEASES.iterdir())
SAVED = sorted(path for path in RELEASES.glob("*/*.json") if path.stem not in ("expected", "numbers"))
DISC = Renamed("Disc", "Cap", since="0.3", until="0.5")


@pytest.fixture(scope="module")
def today():
    return surface()


def taken(line):
    """Parameters of a recorded line: (those by position, those by name alone, whether any name is taken)."""
    inside = re.fullmatch(r"[\w.]+\((.*)\)", line)
    names = [name for name in inside[1].split(", ") if name]
    stars = [k for k, name in enumerate(names) if name.startswith("*") and not name.startswith("**")]
    first = stars[0] if stars else len(names)
    by_name = [name for name in names[first:] if not name.startswith("*")]
    return [name for name in names[:first] if not name.startswith("**")], by_name, names


def broken(old, new):
    """What a call as it was possible once meets today; None if it still works."""
    if "(" not in old:
        return None
    if "(" not in new:
        return "is not called any more"
    (old_position, old_name, old_all), (new_position, new_name, new_all) = taken(old), taken(new)
    plain = [name.rstrip("=") for name in new_position]
    if any(name.startswith("*") and len(name) > 1 and name not in new_all for name in old_all):
        return "takes other numbers of arguments"
    if [name.rstrip("=") for name in old_position] != plain[: len(old_position)]:
        return "has other parameters by position"
    missing = {name.rstrip("=") for name in old_name} - {*plain, *(name.rstrip("=") for name in new_name)}
    if missing and not any(name.startswith("**") for name in new_all):
        return f"has no {', '.join(sorted(missing))}"
    before = {name.rstrip("=") for name in (*old_position, *old_name) if not name.endswith("=")}
    needed = {name for name in (*new_position, *new_name) if not name.endswith("=")} - before
    return f"needs {', '.join(sorted(needed))}" if needed else None


@pytest.mark.parametrize("version", VERSIONS)
def test_names_and_parameters_of_a_release_are_still_there(version, today):
    promised = (RELEASES / version / "surface.txt").read_text(encoding="utf-8").splitlines()
    assert len(promised) > 200
    names = {line.split("(")[0]: line for line in promised}
    assert sorted(set(names) - set(today)) == []
    changed = {name: broken(line, today[name]) for name, line in names.items()}
    assert {name: why for name, why in changed.items() if why} == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_commands_and_options_of_a_release_are_still_there(version):
    promised = (RELEASES / version / "options.txt").read_text(encoding="utf-8").splitlines()
    assert "tmsm fit --region" in promised
    assert sorted(set(promised) - set(command_surface())) == []


def test_the_present_version_is_recorded():
    assert ".".join(tmsm.__version__.split(".")[:2]) in VERSIONS


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("f(X, y=, *, level=)", None),
        ("f(X, y=, z=, *, level=, more=)", None),
        ("f(X, y=, level=)", None),
        ("f(X, **options)", "has other parameters by position"),
        ("f(y=, X=, *, level=)", "has other parameters by position"),
        ("f(X, y=)", "has no level"),
        ("f(X, y=, *, level=, more)", "needs more"),
        ("f(X, y, *, level=)", "needs y"),
        ("f", "is not called any more"),
    ],
)
def test_calls_that_stop_working_are_noticed(new, why):
    assert broken("f(X, y=, *, level=)", new) == why


@pytest.mark.parametrize("path", SAVED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_saved_fits_of_a_release_still_load(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["made_by"]["tmsm"].startswith(path.parent.name)
    fit = tmsm.load(path)
    np.testing.assert_allclose(fit.natural_params_, document["natural_params"], rtol=1e-9)
    np.testing.assert_allclose(fit.result_.natural_covariance, document["covariance"], rtol=1e-6)
    assert document["title"] in fit.summary()


@pytest.mark.parametrize("version", VERSIONS)
def test_saved_sums_of_a_release_still_load(version):
    expected = json.loads((RELEASES / version / "expected.json").read_text())
    for name, theta in expected.items():
        fit = tmsm.ScoreMatching.from_moments(tmsm.load_moments(RELEASES / version / name))
        np.testing.assert_allclose(fit.natural_params_, theta, rtol=1e-9)
        more = fit.natural_params_.copy()
        fit.partial_fit(fit.result_.kept.source.table()[0])
        assert np.isfinite(fit.natural_params_ - more).all()


def test_numbers_of_the_first_release_are_shown_and_make_no_estimator():
    path = RELEASES / "0.1" / "numbers.json"
    record = FitRecord.load(path)
    assert "mean direction" in record.to_text()
    assert record.content["made_by"]["tmsm"] == "0.1.0"
    with pytest.raises(
        InvalidInputError, match=r"saved by tmsm 0\.1.* 'tmsm show' prints them\. For an estimator, fit"
    ):
        tmsm.load(path)


# Names that are replaced.


def test_an_old_name_of_the_package_works_with_a_warning(monkeypatch):
    monkeypatch.setitem(tmsm._RENAMED, "Disc", DISC)
    with pytest.warns(TmsmDeprecationWarning, match="^Disc is called Cap since tmsm 0.3.*in tmsm 0.5.$") as caught:
        assert tmsm.Disc is tmsm.Cap
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match="Disc"):  # every time, and users see it without a filter
        from tmsm import Disc  # noqa: F401
    assert "Disc" not in dir(tmsm)


def test_an_old_method_works_with_a_warning():
    class Region:
        def contains(self, X, *, strictly=True):
            return X, strictly

        inside = renamed_method(Renamed("inside", "contains", since="0.3", until="0.5"))

    with pytest.warns(TmsmDeprecationWarning, match="inside is called contains") as caught:
        assert Region().inside(1, strictly=False) == (1, False)
    assert caught[0].filename == __file__
    assert "contains" in Region.inside.__doc__


def test_an_old_argument_works_with_a_warning():
    @renamed_argument(Renamed("seed", "random_state", since="0.3", until="0.5"))
    def sample(n, random_state=None):
        """Draw."""
        return n, random_state

    assert sample(3, 4) == sample(3, random_state=4) == (3, 4)
    with pytest.warns(TmsmDeprecationWarning, match="seed is called random_state") as caught:
        assert sample(3, seed=4) == (3, 4)
    assert caught[0].filename == __file__
    with pytest.raises(InvalidTypeError, match="give random_state alone, not both"):
        sample(3, seed=4, random_state=5)
    assert sample.__doc__ == "Draw."


def overdue(text, version):
    """Old names in a source that should be gone, or that go too early."""

    def minor(name):
        return tuple(int(part) for part in name.split(".")[:2])

    found = re.findall(r'Renamed\(\s*"(\S+?)",[^)]*since="([\d.]+)",\s*until="([\d.]+)"', text)
    return [
        old
        for old, since, until in found
        if minor(until) <= minor(version) or minor(until) < (minor(since)[0], minor(since)[1] + 2)
    ]


def test_no_old_name_is_kept_too_long_or_too_short():
    assert [
        (path.name, old) for path in SOURCE.rglob("*.py") for old in overdue(path.read_text(), tmsm.__version__)
    ] == []
    text = 'Renamed("Disc", "Cap", since="0.3", until="0.5")'
    assert overdue(text, "0.4.9") == []
    assert overdue(text, "0.5.0") == ["Disc"]
    assert overdue(text.replace("0.5", "0.4"), "0.3.0") == ["Disc"]


# The doors beside the packages.


def test_errors_and_reports_are_imported_by_name():
    import tmsm.errors
    import tmsm.report
    from tmsm.display.report import html_report

    assert tmsm.errors.InvalidInputError is InvalidInputError
    assert tmsm.report.html_report is html_report
