"""What a pass over rows does with each block, in whatever process that lies; what it gives is added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast, final

from tmsm.data.blocks import Block, BlockReader
from tmsm.data.groups import PartialGroupSums
from tmsm.data.sources import RawBlock
from tmsm.foundation.arrays import FloatArray

__all__ = ["BlockPass", "Counted", "Grouped", "LoopPass", "Summed"]

T = TypeVar("T")


class Summed(Protocol):
    """Additive sums of some rows, with the numbers of those inside and outside."""

    @property
    def n(self) -> int: ...

    @property
    def n_outside(self) -> int: ...

    def __add__(self, other: Any) -> Any: ...


@final
@dataclass(frozen=True)
class Counted(Generic[T]):
    """What a pass adds up, None where no row lies inside, and how many rows were left out."""

    part: T | None
    n_outside: int

    def __add__(self, other: Counted[T]) -> Counted[T]:
        mine: Any = self.part
        part = mine if other.part is None else (other.part if mine is None else mine + other.part)
        return Counted(cast("T | None", part), self.n_outside + other.n_outside)


@final
@dataclass(frozen=True)
class BlockPass(Generic[T]):
    """Reads a raw block by arrays, and applies a function to the rows inside."""

    reader: BlockReader
    function: Callable[[Block], T]

    def __call__(self, raw: RawBlock) -> Counted[T]:
        block, n_outside = self.reader(raw)
        return Counted(None if block is None else self.function(block), n_outside)


@final
@dataclass(frozen=True)
class LoopPass(Generic[T]):
    """Sums a raw block by a compiled loop; None of one that arrays have to read, which say what is wrong with it."""

    outside: str
    loop: Callable[[RawBlock], T | None]

    def __call__(self, raw: RawBlock) -> Counted[T] | None:
        found: Any = self.loop(raw)
        if found is None or (found.n_outside and self.outside == "raise"):
            return None
        return Counted(found if found.n else None, found.n_outside)


@final
@dataclass(frozen=True)
class GroupedPart:
    """What a block adds, and its sums over groups."""

    part: Any
    sums: PartialGroupSums

    def __add__(self, other: GroupedPart) -> GroupedPart:
        return GroupedPart(self.part + other.part, self.sums + other.sums)


@final
@dataclass(frozen=True)
class Grouped:
    """A function of a block that gives something, and rows (n, m) to be added up over each group."""

    function: Callable[[Block], tuple[Any, FloatArray]]

    def __call__(self, block: Block) -> GroupedPart:
        part, values = self.function(block)
        assert block.groups is not None, "the rows come in groups"
        return GroupedPart(part, PartialGroupSums.of(block.groups, values))
