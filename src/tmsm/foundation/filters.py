"""Filters: which rows or features of a table are meant, as a person writes it: ``mag >= 5 and depth < 70``.

The language is its own and small.  Nothing of it is ever handed to Python to evaluate.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn, final

import numpy as np

from tmsm.foundation.arrays import BoolArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import is_missing, parse_number, short_repr

__all__ = ["Filter", "named_list"]

_TOKENS = re.compile(
    r"""(?P<blank>\s+)
    |(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    |(?P<bracket>\[[^\[\]]*\])
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<name>[^\W\d][\w.:]*)
    |(?P<operator>==|!=|<=|>=|=|<|>)
    |(?P<mark>[(),])""",
    re.VERBOSE,
)
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}
_WORDS = ("and", "or", "not", "in", *_CONSTANTS)
# Parentheses in each other; more are no filter that a person wrote.
_DEEPEST = 50
_SHOWN = 5


class _Quoted(str):
    """A text that stands in quotes: it equals texts, never numbers that are written otherwise."""

    __slots__ = ()


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


@dataclass(frozen=True)
class _Column:
    """The value that a row has in a column."""

    name: str


@dataclass(frozen=True)
class _Comparison:
    """left, an operator, right; each is a column or a value."""

    sign: str
    left: Any
    right: Any

    def holds(self, row: Mapping[str, Any]) -> bool:
        left, right = (row[side.name] if isinstance(side, _Column) else side for side in (self.left, self.right))
        if self.sign in ("=", "==", "!="):
            return _equal(left, right) is (self.sign != "!=")
        if any(_nothing(left, right)):
            return False
        pair = _as_numbers(left, right)
        if pair is None and not (isinstance(left, str) and isinstance(right, str)):
            return False  # a text has no place among numbers
        return _ORDER[self.sign](*(pair or (left, right)))


@dataclass(frozen=True)
class _Among:
    """Whether a value is one of several."""

    left: Any
    values: tuple[Any, ...]

    def holds(self, row: Mapping[str, Any]) -> bool:
        return any(_Comparison("=", self.left, value).holds(row) for value in self.values)


@dataclass(frozen=True)
class _Not:
    part: Any

    def holds(self, row: Mapping[str, Any]) -> bool:
        return not self.part.holds(row)


@dataclass(frozen=True)
class _All:
    parts: tuple[Any, ...]

    def holds(self, row: Mapping[str, Any]) -> bool:
        return all(part.holds(row) for part in self.parts)


@dataclass(frozen=True)
class _Any:
    parts: tuple[Any, ...]

    def holds(self, row: Mapping[str, Any]) -> bool:
        return any(part.holds(row) for part in self.parts)


@final
@dataclass(frozen=True)
class Filter:
    """A condition on the columns of a table, or on the properties of features.

    Comparisons with = (or ==), !=, <, <=, >, >= and ``in (…)`` are joined by ``and``, ``or``, ``not`` and
    parentheses.  A column is a bare name, or any name in [square brackets].  A value is a number, a text in single or
    double quotes, true, false or null.  Two numbers are compared as numbers, also where a table has them as text;
    anything else as text.  What is missing equals null alone, and is neither smaller nor larger than anything.

    Attributes
    ----------
    text
        The condition as it was written.
    columns
        The names in it, in their order.

    Examples
    --------
    >>> from tmsm.foundation.filters import Filter
    >>> strong = Filter.parse("mag >= 5 and not region in ('Alaska', 'Hawaii')")
    >>> strong.columns
    ('mag', 'region')
    >>> strong.matches({"mag": "5.2", "region": "Nevada"})
    True
    """

    text: str
    columns: tuple[str, ...]
    condition: Any

    @staticmethod
    def parse(text: str) -> Filter:
        """The filter that a text is; an error with the place where it is none."""
        if not isinstance(text, str):
            raise InvalidTypeError(f"A filter is a text such as 'mag >= 5'; got {type(text).__name__}.")
        parser = _Parser(text)
        condition = parser.whole()
        return Filter(text, tuple(dict.fromkeys(parser.names)), condition)

    @staticmethod
    def of(where: Filter | str | None) -> Filter | None:
        """A filter as it is, the one that a text is, or None."""
        return where if where is None or isinstance(where, Filter) else Filter.parse(where)

    def bounds(self) -> dict[str, tuple[float, float]]:
        """The lower and the upper end of every column, infinite where there is none.

        An error unless the filter is made of comparisons of a column with a number, with <, <=, > and >=, joined by
        ``and``.
        """
        parts = self.condition.parts if isinstance(self.condition, _All) else (self.condition,)
        ends: dict[str, list[float | None]] = {}
        for part in parts:
            sign = part.sign if isinstance(part, _Comparison) else ""
            pair = (part.left, part.right) if sign in _ORDER else (None, None)
            if isinstance(pair[1], _Column):
                pair, sign = pair[::-1], sign.translate(str.maketrans("<>", "><"))
            if not (isinstance(pair[0], _Column) and isinstance(pair[1], float)):
                raise InvalidInputError(
                    f"{short_repr(self.text)} must be bounds of columns alone, joined by 'and', such as "
                    "mag > 4.5 and mag < 8."
                )
            side = int(sign.startswith("<"))
            both = ends.setdefault(pair[0].name, [None, None])
            if both[side] is not None:
                raise InvalidInputError(
                    f"{short_repr(self.text)} has two {('lower', 'upper')[side]} ends of {pair[0].name!r}: give one."
                )
            both[side] = pair[1]
        return {
            name: (-np.inf if low is None else low, np.inf if high is None else high)
            for name, (low, high) in ends.items()
        }

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether a row fulfils the condition.

        Parameters
        ----------
        row
            Values by the names of their columns, in any case where that is clear.
        """
        found = self.find_columns(list(row), "The row")
        return self.holds({name: row[column] for name, column in found.items()})

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether values, by the names that `columns` has, fulfil the condition."""
        return bool(self.condition.holds(values))

    def find_columns(self, names: Sequence[str], whose: str) -> dict[str, str]:
        """For every name in the filter that of a column of a table; ``whose`` begins the error where there is none."""
        found = {}
        for name in self.columns:
            if name in names:
                found[name] = name
                continue
            alike = [column for column in names if column.strip().casefold() == name.strip().casefold()]
            if len(alike) > 1:
                raise InvalidInputError(
                    f"{whose} has several columns {name!r} in different cases, {named_list(alike)}: "
                    f"write the one that the filter {self.text!r} means as it is."
                )
            if not alike:
                raise InvalidInputError(self._unknown(name, names, whose))
            found[name] = alike[0]
        return found

    def _unknown(self, name: str, names: Sequence[str], whose: str) -> str:
        close = get_close_matches(name.casefold(), [column.casefold() for column in names], n=1)
        hint = f" Did you mean {next(column for column in names if column.casefold() == close[0])!r}?" if close else ""
        if not close and len(self.columns) > 1 and name != self.columns[0]:
            hint = f" If it is a text, put it in quotes: '{name}'."
        return f"{whose} has no column {name!r} for the filter {self.text!r}; it has {named_list(names)}.{hint}"

    def select(self, columns: Mapping[str, Sequence[Any]], n: int, whose: str, what: str = "rows") -> BoolArray:
        """Which of n rows match, shape (n,); an error where none does.

        Parameters
        ----------
        columns
            The values of all rows, by the names that `columns` has.
        n
            Number of rows.
        whose, what
            For the error: the table, and what its rows are called.
        """
        names = list(columns)
        kept = np.fromiter(
            (
                self.holds(dict(zip(names, values, strict=True)))
                for values in (zip(*columns.values(), strict=True) if names else ((),) * n)
            ),
            dtype=bool,
            count=n,
        )
        if not kept.any():
            raise InvalidInputError(self.describe_absence(n, columns.get(names[0], ()) if names else (), whose, what))
        return kept

    def describe_absence(self, n: int, values: Iterable[Any], whose: str, what: str = "rows") -> str:
        """Say that none of n rows matches, and a few of the values that the first column has."""
        seen: dict[str, None] = {}
        for value in values:
            if not is_missing(value):
                seen[short_repr(_plain(value))] = None
            if len(seen) > _SHOWN:
                break
        shown = ", ".join(list(seen)[:_SHOWN]) + (", …" if len(seen) > _SHOWN else "")
        sentence = f"The filter {self.text!r} matches none of the {n:,} {what} of {whose}."
        if not self.columns:
            return sentence
        return f"{sentence} {self.columns[0]!r} {f'has values such as {shown}' if shown else 'has no values there'}."


class _Parser:
    """Recursive descent: or, and, not, comparison."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        self.depth = 0
        self.tokens = list(self._tokens())
        self.next = 0

    def _tokens(self) -> Iterable[_Token]:
        place = 0
        while place < len(self.text):
            match = _TOKENS.match(self.text, place)
            if match is None:
                quote = self.text[place] in "'\""
                self._fail(place, "the quote has no end" if quote else "this is no part of a filter")
            kind = str(match.lastgroup)
            if kind == "name" and match.group().lower() in _WORDS:
                kind = "word"
            if kind != "blank":
                yield _Token(kind, match.group(), place)
            place = match.end()

    def whole(self) -> Any:
        condition = self._either()
        if self._token is not None:
            self._fail(self._token.place, "'and', 'or' or the end is wanted")
        return condition

    @property
    def _token(self) -> _Token | None:
        return self.tokens[self.next] if self.next < len(self.tokens) else None

    def _taken(self, *texts: str) -> str | None:
        """The next token if it is one of these words or signs, and go on."""
        token = self._token
        if token is None or token.kind in ("text", "bracket", "number", "name") or token.text.lower() not in texts:
            return None
        self.next += 1
        return token.text.lower()

    def _expect(self, sign: str) -> None:
        if self._taken(sign) is None:
            self._fail_here(f"{sign!r} is wanted")

    def _either(self) -> Any:
        parts = [self._both()]
        while self._taken("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else _Any(tuple(parts))

    def _both(self) -> Any:
        parts = [self._negated()]
        while self._taken("and"):
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else _All(tuple(parts))

    def _negated(self) -> Any:
        odd = False
        while self._taken("not"):
            odd = not odd
        part = self._part()
        return _Not(part) if odd else part

    def _part(self) -> Any:
        if not self._taken("("):
            return self._comparison()
        self.depth += 1
        if self.depth > _DEEPEST:
            self._fail_here(f"there are more than {_DEEPEST} nested parentheses")
        inner = self._either()
        self._expect(")")
        self.depth -= 1
        return inner

    def _comparison(self) -> Any:
        left = self._operand()
        token = self._token
        if token is not None and token.kind == "operator":
            self.next += 1
            return _Comparison(token.text, left, self._operand())
        negated = self._taken("not") is not None
        if not self._taken("in"):
            self._fail_here("'in' is wanted" if negated else "a comparison is wanted: = != < <= > >= in")
        self._expect("(")
        values = [self._operand()]
        while self._taken(","):
            if self._token is not None and self._token.text == ")":
                break
            values.append(self._operand())
        self._expect(")")
        return _Not(_Among(left, tuple(values))) if negated else _Among(left, tuple(values))

    def _operand(self) -> Any:
        token = self._token
        if token is None or token.kind in ("operator", "mark") or token.text.lower() in ("and", "or", "not", "in"):
            self._fail_here("a column, a number or a text in quotes is wanted")
        self.next += 1
        if token.kind == "text":
            quote = token.text[0]
            return _Quoted(token.text[1:-1].replace(2 * quote, quote))
        if token.kind == "number":
            return float(token.text)
        if token.kind == "word":
            return _CONSTANTS[token.text.lower()]
        name = token.text[1:-1].strip() if token.kind == "bracket" else token.text
        if not name:
            self._fail(token.place, "the name in the brackets is empty")
        self.names.append(name)
        return _Column(name)

    def _fail_here(self, wanted: str) -> NoReturn:
        self._fail(len(self.text) if self._token is None else self._token.place, wanted)

    def _fail(self, place: int, wanted: str) -> NoReturn:
        rest = self.text[place:]
        at = f"at character {place + 1}, before {short_repr(rest)}" if rest.strip() else "at its end"
        raise InvalidInputError(
            f"The filter {short_repr(self.text)} cannot be read {at}: {wanted}. "
            "A filter is written like mag >= 5 and place = 'Nepal'."
        )


def named_list(names: Sequence[Any], most: int = 12) -> str:
    """Names in quotes, the first dozen of them."""
    shown = ", ".join(repr(str(name).strip()) for name in names[:most])
    return shown + (", …" if len(names) > most else "")


def _is_quoted(left: Any, right: Any) -> bool:
    return isinstance(left, _Quoted) or isinstance(right, _Quoted)


def _nothing(left: Any, right: Any) -> tuple[bool, bool]:
    """Which of two sides hold nothing; beside a text in quotes "NA" is a text, such as the code of Namibia."""
    if not _is_quoted(left, right):
        return is_missing(left), is_missing(right)
    return tuple(not one.strip() if isinstance(one, str) else is_missing(one) for one in (left, right))  # type: ignore[return-value]


def _equal(left: Any, right: Any) -> bool:
    missing = _nothing(left, right)
    if any(missing):
        return all(missing)
    if isinstance(left, bool | np.bool_) or isinstance(right, bool | np.bool_):
        return _as_flag(left) is not None and _as_flag(left) == _as_flag(right)
    pair = None if _is_quoted(left, right) else _as_numbers(left, right)
    return _written(left) == _written(right) if pair is None else pair[0] == pair[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _as_numbers(left: Any, right: Any) -> tuple[float, float] | None:
    """Both as numbers, also texts that are some; None where one is none."""
    if isinstance(left, bool | np.bool_) or isinstance(right, bool | np.bool_):
        return None
    try:
        return _number(left), _number(right)
    except (TypeError, ValueError, OverflowError):
        return None


def _number(value: Any) -> float:
    return parse_number(value.strip()) if isinstance(value, str) else float(value)


def _as_flag(value: Any) -> bool | None:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return {"true": True, "false": False, "1": True, "0": False}.get(value.strip().lower())
    return {1.0: True, 0.0: False}.get(float(value)) if _is_number(value) else None


def _written(value: Any) -> str:
    """A value as a table has it: 5, not 5.0."""
    return f"{value:.15g}" if _is_number(value) else str(value).strip()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
