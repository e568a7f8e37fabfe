"""Value objects as plain JSON data and back: names of classes and arguments of their constructors, never code.

A number, a text and None stand for themselves, a list for a tuple.  Everything else is an object with one telling
member: ``{"array": [...]}``, ``{"number": "inf"}``, ``{"list": [...]}``, ``{"class": "Cap", "arguments": {...}}``.
Only classes that inherit from `ValueObject` and are imported can be named.  Only their constructors are called, which
check what they are given.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import short_repr
from tmsm.foundation.values import ValueObject

__all__ = ["MAX_DEPTH", "UnknownClassError", "decode", "decode_array", "encode", "imported_class"]

# Objects within objects: a region of regions, a weight of a policy.
MAX_DEPTH = 50
_NOT_FINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
_DTYPES = {"f": "float64", "i": "int64", "b": "bool"}
_MAX_AXES = 4
# What a constructor may raise for arguments that it was not made for.
_REFUSALS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, AssertionError)


class UnknownClassError(InvalidInputError):
    """A file names a class that is not imported."""


def encode(value: Any, name: str, depth: int = 0) -> Any:
    """What JSON can hold of a value, so that `decode` gives an equal one.

    Parameters
    ----------
    value
        None, a number, text, an array, a tuple or list of such, or a value object made of such.
    name
        What it is, for the error about what cannot be kept.
    depth
        How many objects it stands in.
    """
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"The {name} cannot be kept in a file: it has more than {MAX_DEPTH} levels of objects.")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"number": _as_text(value)}
    if isinstance(value, tuple | list):
        entries = [encode(entry, name, depth + 1) for entry in value]
        return entries if isinstance(value, tuple) else {"list": entries}
    if isinstance(value, np.ndarray) and value.dtype.kind == "u" and value.max(initial=0) < 2**63:
        value = value.astype(np.int64)
    if isinstance(value, np.ndarray) and value.dtype.kind in _DTYPES:
        return _encode_array(value)
    if isinstance(value, ValueObject):
        kind = type(value)
        arguments = value.to_arguments()
        try:
            inspect.signature(kind.from_arguments).bind(**arguments)
        except TypeError as error:
            raise InvalidInputError(
                f"The {name} cannot be kept in a file: {kind.__name__} is not made from its fields ({error}). "
                "Give it a method to_arguments() that returns what its constructor takes."
            ) from None
        return {
            "class": kind.__name__,
            "module": kind.__module__,
            "arguments": {
                key: encode(entry, f"{name} ({kind.__name__}, {key})", depth + 1) for key, entry in arguments.items()
            },
        }
    what = "a function" if callable(value) else f"a value of type {type(value).__name__}"
    raise InvalidInputError(f"The {name} is {what}, which cannot be kept in a file: a file holds no code.")


def decode(value: Any, name: str, depth: int = 0) -> Any:
    """The value that was encoded; an `InvalidInputError` that begins with ``name`` where it is none.

    Parameters
    ----------
    value
        What a file holds.
    name
        What it should be, for messages.
    depth
        How many objects it stands in.
    """
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"{name} has more than {MAX_DEPTH} levels of objects.")
    if value is None or type(value) in (bool, str, int, float):
        return value
    if isinstance(value, list):
        return tuple(decode(entry, name, depth + 1) for entry in value)
    if isinstance(value, dict):
        members = set(value)
        if members == {"number"} and isinstance(value["number"], str) and value["number"] in _NOT_FINITE:
            return _NOT_FINITE[value["number"]]
        if members == {"list"} and isinstance(value["list"], list):
            return [decode(entry, name, depth + 1) for entry in value["list"]]
        if members == {"array", "shape", "dtype"}:
            return decode_array(value, name)
        if members == {"class", "module", "arguments"}:
            return _decode_object(value, name, depth)
    raise InvalidInputError(f"{name} is not what tmsm writes: {short_repr(value)}.")


def decode_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """The array that was encoded."""
    wrong = InvalidInputError(f"{name} is no array as tmsm writes them.")
    if not isinstance(value, dict) or set(value) != {"array", "shape", "dtype"}:
        raise wrong
    entries, shape, dtype = value["array"], value["shape"], value["dtype"]
    if not (isinstance(entries, list) and isinstance(shape, list) and isinstance(dtype, str)):
        raise wrong
    if dtype not in _DTYPES.values() or len(shape) > _MAX_AXES:
        raise wrong
    if not all(type(size) is int and 0 <= size <= 2**31 for size in shape):
        raise wrong
    # In Python's numbers, which do not overflow.
    if int(np.prod(np.array(shape, dtype=object), initial=1)) != len(entries):
        raise InvalidInputError(f"{name} has {len(entries):,} numbers for an array of shape {tuple(shape)}.")
    allowed = {"float64": (int, float), "int64": (int,), "bool": (bool,)}[dtype]
    if dtype == "float64" and any(type(entry) is str for entry in entries):
        entries = [_NOT_FINITE.get(entry, entry) if type(entry) is str else entry for entry in entries]
    if not all(type(entry) in allowed for entry in entries):
        raise InvalidInputError(f"{name} holds something that is no number of type {dtype}.")
    try:
        return np.array(entries, dtype=dtype).reshape(shape)
    except (OverflowError, ValueError):
        raise InvalidInputError(f"{name} holds a number beyond what type {dtype} can hold.") from None


def imported_class(base: type, name: Any, module: Any, kind: str) -> Any:
    """The class of a name among those that are imported and inherit from a base; the last one defined of several.

    Of several that have the name, one of the same module comes first.  ``kind`` is what it is, for the message.
    """
    found = [one for one in _subclasses(base) if one.__name__ == name and not inspect.isabstract(one)]
    if not found:
        where = f" ({module})" if isinstance(module, str) and module.isprintable() and len(module) <= 70 else ""
        shown = name if isinstance(name, str) and name.isidentifier() and len(name) <= 70 else short_repr(name)
        raise UnknownClassError(
            f"was made with the {kind} {shown}, which is not known here: "
            f"import the module that defines it{where} first."
        )
    return next((one for one in reversed(found) if one.__module__ == module), found[-1])


def _decode_object(value: dict[str, Any], name: str, depth: int) -> ValueObject:
    arguments = value["arguments"]
    if not isinstance(arguments, dict):
        raise InvalidInputError(f"{name} has no arguments.")
    kind = imported_class(ValueObject, value["class"], value["module"], name)
    given = {key: decode(entry, name, depth + 1) for key, entry in arguments.items()}
    try:
        made = kind.from_arguments(**given)
    except _REFUSALS as error:
        raise InvalidInputError(f"{name} cannot be made: {error}") from None
    assert isinstance(made, ValueObject)
    return made


def _encode_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    dtype = _DTYPES[array.dtype.kind]
    flat = np.ascontiguousarray(array, dtype=dtype).ravel()
    entries: list[Any] = flat.tolist()
    if dtype == "float64" and not np.isfinite(flat).all():
        entries = [entry if np.isfinite(entry) else _as_text(entry) for entry in entries]
    return {"array": entries, "shape": list(array.shape), "dtype": dtype}


def _as_text(value: float) -> str:
    return next(text for text, number in _NOT_FINITE.items() if value == number or (value != value and text == "nan"))


def _subclasses(base: type) -> list[type]:
    """All classes that inherit from one, each once; of the same parent in the order of their definition."""
    direct: list[type] = type.__subclasses__(base)
    return list(dict.fromkeys([*direct, *(below for one in direct for below in _subclasses(one))]))
