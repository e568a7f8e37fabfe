"""The standard streams, with characters that their encoding lacks spelled out."""

from __future__ import annotations

import codecs
import io
import sys

from tmsm.foundation.whole_files import send

__all__ = ["can_encode", "emit", "prepare", "say"]

# How else to write what an encoding lacks.
_SPELLINGS = {
    "─": "-", "│": "|", "━": "-", "…": "...", "·": ".", "–": "-", "—": "-", "−": "-", "→": "->", "×": "x", "±": "+/-",
    "°": " deg", "²": "^2", "³": "^3", "≤": "<=", "≥": ">=", "α": "alpha", "β": "beta", "θ": "theta", "κ": "kappa",
    "λ": "lambda", "μ": "mu", "Σ": "Sigma", "χ": "chi", "π": "pi",
}  # fmt: skip


def emit(text: str = "", end: str = "\n") -> None:
    """A result, on standard output."""
    send(sys.stdout, text + end)


def say(text: str = "") -> None:
    """A line for the user, on standard error: standard output is for results."""
    send(sys.stderr, text + "\n")


def can_encode(text: str) -> bool:
    """Whether standard output has all these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def prepare() -> None:
    """Make the standard streams spell out what their encoding lacks."""
    codecs.register_error("tmsm.spell", _spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="tmsm.spell")


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    spelled = _SPELLINGS.get(error.object[error.start])
    if spelled is None:
        return codecs.backslashreplace_errors(error)
    return spelled, error.start + 1
