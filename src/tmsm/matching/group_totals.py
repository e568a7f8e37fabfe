"""Sums over groups of rows whose labels may come in any block of a stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.data.groups import Groups
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError

__all__ = ["GroupTotals"]


@final
@dataclass(frozen=True)
class GroupTotals:
    """What was summed over each group: memory grows with the number of groups, not with that of rows.

    Attributes
    ----------
    labels
        What the groups are called, numbers or text, in the order in which they came.
    totals
        Shape (G, m).
    """

    labels: tuple[float | str, ...]
    totals: FloatArray

    @classmethod
    def none(cls, m: int) -> GroupTotals:
        """No group yet, of m sums each."""
        return cls((), np.zeros((0, m)))

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def _numbers(self) -> dict[float | str, int]:
        return {label: k for k, label in enumerate(self.labels)}

    def numbered(self, labels: Any, n: int) -> tuple[GroupTotals, Groups]:
        """The same with room for the groups of more rows, and which of all groups each of those n rows belongs to."""
        own = Groups.of(labels, n)
        array = np.asarray(labels)
        first = np.zeros(own.count, dtype=np.intp)
        first[own.codes[::-1]] = np.arange(n - 1, -1, -1)
        names = array[first]
        if array.dtype.kind in "mM":
            names = names.astype(f"{array.dtype.kind}8[ns]").astype(str)
        plain = [_plain(name) for name in names]
        if any(isinstance(name, str) for name in plain):  # beside text a number is text
            plain = [str(name) for name in plain]
        wider, numbers = self._with_labels(plain)
        return wider, Groups(numbers[own.codes], len(wider))

    def _with_labels(self, names: list[float | str]) -> tuple[GroupTotals, IntArray]:
        """The same with room for more groups, and the number of each."""
        if self.labels and names and isinstance(self.labels[0], str) != isinstance(names[0], str):
            before, here = ("text", "numbers") if isinstance(self.labels[0], str) else ("numbers", "text")
            raise InvalidInputError(
                f"groups has {here} for labels, and {before} in the rows before: give labels of one kind in all calls."
            )
        new = [name for name in dict.fromkeys(names) if name not in self._numbers]
        wider = self
        if new:
            room = np.zeros((len(new), self.totals.shape[1]))
            wider = GroupTotals((*self.labels, *new), np.concatenate([self.totals, room]))
        return wider, np.array([wider._numbers[name] for name in names], dtype=np.intp)

    def with_totals(self, totals: FloatArray) -> GroupTotals:
        """The same groups with other sums."""
        found = replace(self, totals=totals)
        found.__dict__["_numbers"] = self._numbers  # of many groups it takes time
        return found

    def merged(self, other: GroupTotals) -> tuple[GroupTotals, IntArray]:
        """The sums of both, and the numbers that the groups of the other have in them."""
        if other.labels[: len(self)] == self.labels:  # as in a stream
            totals = other.totals.copy()
            totals[: len(self)] += self.totals
            return other.with_totals(totals), np.arange(len(other))
        wider, numbers = self._with_labels(list(other.labels))
        totals = wider.totals.copy()
        totals[numbers] += other.totals
        return wider.with_totals(totals), numbers

    def content(self) -> dict[str, Any]:
        """What a file is to hold of them."""
        return {"labels": list(self.labels), "totals": self.totals}


def _plain(label: Any) -> float | str:
    """A label as a number or a text."""
    if isinstance(label, np.generic):
        label = label.item()
    return label if isinstance(label, int | float) else str(label)
