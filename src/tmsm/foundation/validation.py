"""Checks of what users pass in: what is wrong, whose it is, the rule, and what to do."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from reprlib import Repr
from typing import Any

import numpy as np

from tmsm.foundation.arrays import ArrayLike, BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError

__all__ = [
    "as_float_array",
    "as_rows",
    "check_concentration",
    "check_count",
    "check_flag",
    "check_jobs",
    "check_number",
    "check_option",
    "check_random_state",
    "check_sample_weight",
    "check_unit_vector",
    "check_vector",
    "count_rows",
    "find_missing",
    "is_missing",
    "is_number",
    "parse_number",
    "refuse_masked",
    "short_repr",
]


_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxtuple = 4, 20, 20
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 70

_UNIT_ROUNDING = 1e-15
_CONCENTRATION_HINT = "Beyond that unit vectors in double precision do not show it."


def as_float_array(values: ArrayLike, name: str) -> FloatArray:
    """Convert to float64 or say why not; NaN and infinities pass, masked entries do not."""
    refuse_masked(values, name)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "cmMSU":  # text and dates would convert, to something nobody meant
            raise TypeError
        if array.dtype.kind == "O" and any(isinstance(entry, str | bytes) for entry in array.flat):
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidTypeError(
            f"{name} must hold real numbers; got {_describe(values)}. "
            "Convert text and dates to numbers, drop missing values and keep rows of one length."
        ) from None


def as_rows(
    values: Any,
    name: str,
    width: int | None = None,
    *,
    width_hint: Callable[[int], str] = lambda _: "",
    empty: bool = False,
) -> np.ndarray[Any, Any]:
    """Return a two-dimensional numeric array without copying or converting what already is one.

    The dtype is left alone (float32 and memory maps are converted block by block by the caller).
    ``width_hint`` says what a table with another number of columns may hold.
    """
    if np.ma.isMaskedArray(values):
        refuse_masked(values, name)
        values = np.asarray(values)
    numeric = isinstance(values, np.ndarray) and values.dtype.kind in "fiu"
    array = values if numeric else as_float_array(values, name)
    if array.ndim != 2:
        hint = ""
        if array.ndim == 1:
            shape = "(-1, 1)" if width == 1 else "(1, -1)"
            hint = f" For {'one coordinate' if width == 1 else 'a single point'} use {name}.reshape{shape}."
        if array.ndim == 3 and array.shape[1:] == (3, 3):
            hint = " Rotation matrices become unit quaternions with Rotations().from_matrices."
        raise InvalidInputError(
            f"{name} must be a table of shape (n, D), one row a point; got shape {array.shape}.{hint}"
        )
    if array.shape[0] == 0 and not empty:
        raise InvalidInputError(f"{name} has no rows.")
    if width is not None and array.shape[1] != width:
        hint = width_hint(array.shape[1])
        if not hint and array.shape[0] == width:
            hint = f" Its transpose has: pass {name}.T."
        raise InvalidInputError(f"{name} has {array.shape[1]} columns where points have {width} coordinates.{hint}")
    return array


def check_vector(values: ArrayLike, name: str, *, finite: bool = True) -> FloatArray:
    """Return a one-dimensional float64 array."""
    vector = as_float_array(values, name)
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidInputError(f"{name} must be a vector; got shape {vector.shape}.")
    if finite and not np.isfinite(vector).all():
        raise InvalidInputError(f"{name} must be finite; got {vector.tolist()}.")
    return vector


def check_unit_vector(values: ArrayLike, name: str) -> FloatArray:
    """Return a vector of length one (to rounding) in at least two dimensions."""
    vector = check_vector(values, name)
    if vector.size < 2:
        raise InvalidInputError(f"{name} must have at least two coordinates; got {vector.tolist()}.")
    norm = float(np.linalg.norm(vector))
    if not abs(norm - 1.0) <= 1e-6:
        raise InvalidInputError(
            f"{name} must be a unit vector; its norm is {norm:.6g}. "
            "Divide it by its norm, or use lonlat_to_xyz if these are degrees."
        )
    # What was divided before stays as it is, bit by bit, so that an object is equal to one made from its own fields.
    return vector if abs(norm - 1.0) <= _UNIT_ROUNDING else vector / norm


def check_number(
    value: Any,
    name: str,
    *,
    above: float = -np.inf,
    below: float = np.inf,
    at_least: float = -np.inf,
    hint: str = "",
) -> float:
    """Return a finite float strictly between ``above`` and ``below`` and not below ``at_least``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InvalidTypeError(f"{name} must be a number; got {_describe(value)}.")
    number = float(value)
    if not (above < number < below and number >= at_least and np.isfinite(number)):
        rule = "finite" if np.isinf(at_least) else f"finite and at least {at_least:.6g}"
        if np.isfinite(at_least) and np.isfinite(below):
            rule = f"at least {at_least:.6g} and below {below:.6g}"
        elif np.isfinite(above) and np.isfinite(below):
            rule = f"between {above:.6g} and {below:.6g}"
        elif np.isfinite(above):
            rule = f"finite and greater than {above:.6g}"
        raise InvalidInputError(f"{name} must be {rule}; got {number:.6g}.{' ' if hint else ''}{hint}")
    return number


def check_concentration(value: Any, name: str = "concentration", *, at_least: float = 1e-9) -> float:
    """Return a concentration that unit vectors in double precision can show."""
    return check_number(value, name, at_least=at_least, below=1e10, hint=_CONCENTRATION_HINT)


def check_flag(value: Any, name: str) -> bool:
    """Return a bool that is one."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError(f"{name} must be True or False; got {_describe(value)}.")
    return bool(value)


def check_count(value: Any, name: str, *, at_least: int = 1) -> int:
    """Return an int that is at least ``at_least``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise InvalidTypeError(f"{name} must be a whole number; got {_describe(value)}.")
    if value < at_least:
        raise InvalidInputError(f"{name} must be at least {at_least}; got {value}.")
    return int(value)


def check_jobs(value: Any) -> int | None:
    """A number of threads or processes: None, a number of them, or −1 for all, −2 for all but one, and so on."""
    if value is None:
        return None
    number = check_count(value, "n_jobs", at_least=-(2**31))
    if number == 0:
        raise InvalidInputError("n_jobs must not be 0: say None or -1 for all processors, or how many.")
    return number


def check_option(value: Any, options: Iterable[str], name: str) -> str:
    """Return ``value`` if it is one of the options."""
    legal = list(options)
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name} must be one of {legal}; got {_describe(value)}.")
    if value not in legal:
        close = get_close_matches(value, legal, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInputError(f"{name}={value!r} is not an option. Choose one of {legal}.{hint}")
    return value


def check_random_state(random_state: Any) -> np.random.Generator:
    """Turn None, an int or a Generator into a Generator; the global state is never touched."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return np.random.default_rng(int(random_state))
    raise InvalidTypeError(
        "random_state must be None, a non-negative whole number or a numpy.random.Generator; "
        f"got {_describe(random_state)}."
    )


def check_sample_weight(values: ArrayLike | None, n: int) -> FloatArray | None:
    """Return relative weights, one a row, non-negative."""
    if values is None:
        return None
    weight = as_float_array(values, "sample_weight")
    if weight.shape != (n,):
        raise InvalidInputError(
            f"sample_weight must have one entry for each of the {n} rows of X; got shape {weight.shape}."
        )
    bad = ~(weight >= 0) | np.isinf(weight)
    if bad.any():
        raise InvalidInputError(
            f"sample_weight must be finite and not negative; {count_rows(bad)} "
            f"(first: row {int(np.argmax(bad))}, {weight[np.argmax(bad)]:.6g})."
        )
    largest = float(weight.max())
    if largest > 0.0 and not 1e-100 < largest < 1e100:
        raise InvalidInputError(
            f"sample_weight has its largest entry at {largest:.3g}, beyond what can be squared. "
            "Only ratios matter: divide all by it."
        )
    return weight


def find_missing(values: Any) -> BoolArray:
    """Which entries are None, NaN, NaT, pandas.NA, masked or blank text, in the shape of the values."""
    # Beside text NumPy would turn None and NaN of a list into text.
    array = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
    kind = array.dtype.kind
    missing: BoolArray = np.zeros(array.shape, dtype=bool)
    if kind in "fc":
        missing = np.isnan(array)
    elif kind in "mM":
        missing = np.isnat(array)
    elif kind in "SU":
        missing = np.char.str_len(np.char.strip(array)) == 0
    elif kind == "O":
        missing = np.array([_is_missing(entry) for entry in array.ravel()], dtype=bool).reshape(array.shape)
    mask = _mask(values)
    return missing if mask is None else missing | mask


def _is_missing(entry: Any) -> bool:
    if entry is None or entry is np.ma.masked:
        return True
    if isinstance(entry, str | bytes):
        return not entry.strip()
    try:
        return bool(entry != entry)
    except TypeError:  # pandas.NA is neither equal to anything nor not
        return True
    except ValueError:  # an array
        return False


def _mask(values: Any) -> BoolArray | None:
    """What numpy.ma has masked, also in a list of masked arrays; None where nothing can be."""
    if isinstance(values, list | tuple) and any(map(np.ma.isMaskedArray, values)):
        try:
            return np.array([np.ma.getmaskarray(entry) for entry in values], dtype=bool)
        except ValueError:  # of different lengths: whoever converts them says so
            return None
    return np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None


def refuse_masked(values: Any, name: str) -> None:
    """Raise where entries of a masked array, or of a list of such, are masked."""
    mask = _mask(values)
    if mask is not None and mask.any():
        rows = mask.any(axis=tuple(range(1, mask.ndim))) if mask.ndim else mask[None]
        raise InvalidInputError(
            f"{name} has {int(rows.sum())} of {rows.size} rows (first: row {int(np.argmax(rows))}) with masked "
            "entries. Drop those rows first."
        )


def parse_number(text: str) -> float:
    """The number that a text is; ValueError where it is none.

    Python reads ``1_0`` and other scripts' digits as numbers too: in a table they are slips.
    """
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


# What tables write for nothing, in any case.
_NOTHING = ("", "nan", "na", "n/a", "null", "none", "-", ".")


def is_missing(value: Any) -> bool:
    """Whether a cell of a table holds nothing: None, NaN, pandas.NA, or a word for it."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither equal to anything nor not; a list of JSON is there
        return not isinstance(value, list | tuple | np.ndarray)


def is_number(text: str) -> bool:
    """Whether a text is a number as tables have them."""
    try:
        parse_number(text)
    except ValueError:
        return False
    return True


def count_rows(bad: BoolArray) -> str:
    """Say '3 of 500 rows are not'."""
    n = int(np.count_nonzero(bad))
    return f"{n} of {bad.size} rows {'is' if n == 1 else 'are'} not"


def short_repr(value: Any) -> str:
    """A value on one short line, however large it is or deep its lists are nested."""
    text = " ".join(_SHORT.repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _describe(value: Any) -> str:
    return f"{type(value).__name__} {short_repr(value)}"
