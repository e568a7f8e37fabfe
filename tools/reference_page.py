"""What docs/reference.md shows: the paths of classes and functions, and which of their members."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
# A line of the page, and the members that it shows if they are not all.
LINE = re.compile(r"^::: (\S+)$(?:\n    options:\n      members: (?:\[(.*)\]|(false)))?", flags=re.MULTILINE)
FOR_USERS, FOR_AUTHORS = PAGE.split("\n## Base classes of weights\n")


def named(path: str) -> Any:
    """The object that a line of the page names."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        return getattr(named(module), name)


def shown(page: str) -> Iterator[tuple[str, list[str] | None]]:
    """What a part of the page shows: each path, and the names of its members; None for all of them."""
    for found in LINE.finditer(page):
        yield found[1], [] if found[3] else None if found[2] is None else found[2].replace('"', "").split(", ")


def ours(kind: type) -> list[type]:
    """The classes of this package that a class is made from, itself first."""
    return [one for one in kind.__mro__ if one.__module__.startswith("tmsm.")]


def members(kind: type, names: list[str] | None) -> Iterator[tuple[str, Any, list[Any]]]:
    """The public members of a class that the page shows: name, what it is, and all of that name it is made from."""
    for name in dir(kind) if names is None else names:
        made = [vars(one)[name] for one in ours(kind) if name in vars(one)]
        if not name.startswith("_") and made:
            yield name, made[0].__func__ if isinstance(made[0], classmethod | staticmethod) else made[0], made


def methods(kind: type, names: list[str] | None) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """Those members that are functions."""
    for name, one, made in members(kind, names):
        if not isinstance(one, property | cached_property) and inspect.isfunction(one):
            yield name, one, made
