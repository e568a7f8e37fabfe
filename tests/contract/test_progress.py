"""Progress bars: after two seconds, on a terminal, one at a time, and nothing is lost."""

import io

import numpy as np
import pytest

import tmsm
from tmsm.foundation import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("terminal", "shown"), [(True, True), (False, False)])
def test_a_bar_is_shown_on_a_terminal_only(monkeypatch, terminal, shown):
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    inner = [list(progress.with_progress(range(3), 3, "inner")) for _ in progress.with_progress(range(4), 4, "outer")]
    assert inner == [[0, 1, 2]] * 4
    assert ("outer" in stream.getvalue()) == shown


def test_what_is_quick_is_silent(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", np.inf)
    assert list(progress.with_progress(range(5), 5, "quick")) == [0, 1, 2, 3, 4]
    assert stream.getvalue() == ""


def test_a_large_border_is_built_in_steps_that_are_shown(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    region = tmsm.SphericalPolygon([np.eye(3)])
    assert "building the border" in stream.getvalue()
    region.to_geojson()
    assert not progress._shown


def test_an_error_takes_the_bar_away(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr("sys.stderr", Terminal())

    def failing():
        yield from range(3)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(progress.with_progress(failing(), 5, "failing"))
    assert not progress._shown
