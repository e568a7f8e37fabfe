"""Results that belong to a value: equal values share them as long as any of them lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, final

from tmsm.foundation.values import ValueObject

__all__ = ["Shelf", "shelf_of"]

T = TypeVar("T")


@final
class Shelf:
    """What is kept for one value: at most so many results, of at most so large a size together, the newest of them."""

    def __init__(self) -> None:
        self._owners: list[weakref.ref[ValueObject]] = []
        self._kept: dict[Hashable, tuple[Any, int]] = {}

    def take(
        self, key: Hashable, make: Callable[[], T], size: Callable[[T], int], *, at_most: int, size_at_most: int
    ) -> T:
        """The result under a key, made now if it is not there."""
        if key not in self._kept:
            made = make()
            self._kept[key] = made, size(made)
            while len(self._kept) > 1 and (
                len(self._kept) > at_most or sum(one for _, one in self._kept.values()) > size_at_most
            ):
                self._kept.pop(next(iter(self._kept)))  # the oldest
        found: T = self._kept[key][0]
        return found

    def __len__(self) -> int:
        return len(self._kept)

    def _belongs_to(self, value: ValueObject) -> bool:
        self._owners = [owner for owner in self._owners if owner() is not None]
        return any(owner() == value for owner in self._owners[:1])

    def _join(self, value: ValueObject) -> None:
        self._owners.append(weakref.ref(value))


# By hash; a shelf lives as long as one of its owners, each of which holds it.
_SHELVES: dict[int, weakref.WeakSet[Shelf]] = {}


def shelf_of(value: ValueObject) -> Shelf:
    """The shelf of a value, which all values equal to it have in common."""
    mine: Shelf | None = value.__dict__.get("_shelf")
    if mine is None:
        shelves = _SHELVES.setdefault(hash(value), weakref.WeakSet())
        mine = next((shelf for shelf in shelves if shelf._belongs_to(value)), None) or Shelf()
        mine._join(value)
        shelves.add(mine)
        value.__dict__["_shelf"] = mine
        for key in [key for key, others in _SHELVES.items() if not others]:
            del _SHELVES[key]
    return mine
