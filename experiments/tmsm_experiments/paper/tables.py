"""Tables for people: Markdown."""

from collections.abc import Sequence


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def without_repeats(rows: Sequence[Sequence[str]], columns: int) -> list[Sequence[str]]:
    """The rows with their first cells left empty where all of these are those of the row above."""
    found = []
    for k, row in enumerate(rows):
        same = k > 0 and list(row[:columns]) == list(rows[k - 1][:columns])
        found.append((*[""] * columns, *row[columns:]) if same else row)
    return found


def significant(value: float, digits: int = 3) -> str:
    """A number with some significant digits; "–" for none."""
    if value != value:
        return "–"
    text = f"{value:#.{digits}g}"
    if "e" in text:
        return f"{value:.0f}" if abs(value) > 1.0 else f"{value:.{digits - 1}e}"
    return text.rstrip(".")


def with_error(value: float, error: float) -> str:
    """A number and its standard error, to the error's second digit."""
    if not error > 0.0:
        return significant(value)
    from math import floor, log10

    digits = max(0, 1 - floor(log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def p_value(p: float) -> str:
    if p != p:
        return "–"
    return "< 1e-6" if p < 1e-6 else f"{p:.2g}"


def place(longitude: float, latitude: float) -> str:
    """A place in degrees, with the letters of a map."""
    east, north = ("E" if longitude >= 0 else "W"), ("N" if latitude >= 0 else "S")
    return f"{abs(latitude):.1f}° {north}, {abs(longitude):.1f}° {east}"
