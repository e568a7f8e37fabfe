"""Rows that come in pieces: what a source needs that is larger than memory, or that nobody has counted yet."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from tmsm.data.covariates import Covariates
from tmsm.data.groups import Groups
from tmsm.data.sources import RawBlock, Source, joined, taken_rows
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.progress import with_progress

__all__ = ["StreamedSource", "evenly", "refuse_one_pass"]

# Of rows that have to be counted, so many are kept on the way, spread evenly, for samples.
_KEPT_ROWS = 2**18


@dataclass(frozen=True)
class _Survey:
    """The number of rows, and one of every ``step`` of them."""

    n: int
    step: int
    kept: RawBlock


class StreamedSource(Source):
    """Rows of which only a piece is in memory at a time.

    A subclass gives its columns and its `pieces`.  They are cut into blocks of one size, so that an estimate is the one
    of the same rows in an array.  Where nobody knows how many rows there are, they are read once to be counted.
    """

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, for an error message."""

    @abstractmethod
    def pieces(self) -> Iterator[RawBlock]:
        """All rows in order, in pieces of any size, none of them empty; each call begins anew."""

    @property
    def is_costly(self) -> bool:
        return True

    @property
    def known_length(self) -> int | None:
        """Number of rows, where it is known before they are read."""
        return None

    def __len__(self) -> int:
        known = self.known_length
        n = self._survey.n if known is None else known
        if n == 0:
            raise InvalidInputError(f"{self.title} has no rows.")
        return n

    def blocks(self, size: int) -> Iterator[RawBlock]:
        return self._counted(self.pieces(), size)

    def _counted(self, pieces: Iterator[RawBlock], size: int) -> Iterator[RawBlock]:
        """Pieces in blocks of one size; an error where these are not as many rows as there were."""
        n = 0
        for block in evenly(pieces, size):
            n += len(block.X)
            yield block
        if self.rereadable and n != len(self):
            raise InvalidInputError(
                f"{self.title} gave {n:,} rows in one pass and {len(self):,} in another: it must give the same rows "
                "each time that it is read."
            )

    @cached_property
    def _survey(self) -> _Survey:
        """Read all rows once: to count them, and to keep some."""
        n, step, kept = 0, 1, list[RawBlock]()
        for piece in with_progress(self.pieces(), None, "counting rows", lambda one: len(one.X)):
            # Numbers of rows, not a slice: what is kept must not keep the rest of its piece.
            kept.append(taken_rows(piece, np.arange((-n) % step, len(piece.X), step)))
            n += len(piece.X)
            while sum(len(part.X) for part in kept) > 2 * _KEPT_ROWS:
                step *= 2
                together = joined(kept)
                kept = [taken_rows(together, np.arange(0, len(together.X), 2))]
        return _Survey(n, step, joined(kept))

    def sample(self, n: int) -> RawBlock:
        survey, stride = self._survey, self.stride(n)
        if survey.step > stride:
            return super().sample(n)
        return taken_rows(survey.kept, np.arange(0, survey.n, stride) // survey.step)

    @cached_property
    def equally_weighted(self) -> bool:
        return super().equally_weighted

    @cached_property
    def counts(self) -> bool:
        return super().counts

    def with_groups(self, groups: Groups | None) -> Source:
        return self if groups is None else self._refuse("groups")

    def with_covariates(self, covariates: Covariates | None) -> Source:
        return self if covariates is None else self._refuse("covariates")

    def grouped(self, labels: Any) -> Source:
        return self._refuse("groups")

    def described(self, covariates: Any) -> Source:
        return self._refuse("covariates")

    def _refuse(self, what: str) -> NoReturn:
        """Say where such columns can come from."""
        raise InvalidInputError(
            f"{self.title} is read in blocks, which have points alone: {what} are for arrays, and for files and tables "
            "of which they are columns."
        )

    def place_of(self, row: int) -> str:
        """Where a row is, for an error message."""
        return f"{self.title}, row {row:,}"


def evenly(pieces: Iterable[RawBlock], size: int) -> Iterator[RawBlock]:
    """The same rows, numbered from zero, in blocks of one size; the last may be smaller."""
    waiting, n_waiting, start = list[RawBlock](), 0, 0
    for piece in pieces:
        first = 0
        while first < len(piece.X):
            part = taken_rows(piece, slice(first, first + size - n_waiting))
            first, n_waiting = first + len(part.X), n_waiting + len(part.X)
            waiting.append(part)
            if n_waiting == size:
                yield replace(joined(waiting), start=start)
                waiting, n_waiting, start = [], 0, start + size
        if waiting:  # whoever gave the piece may use its memory again
            waiting[-1] = taken_rows(waiting[-1], np.arange(len(waiting[-1].X)))
    if waiting:
        yield replace(joined(waiting), start=start)


def refuse_one_pass(source: Source) -> None:
    """Raise where rows can be read only once, and `fit` needs them again."""
    if not source.rereadable:
        what = source.title if isinstance(source, StreamedSource) else type(source).__name__
        raise InvalidInputError(
            f"{what} can be read only once, and fit reads rows several times: give each of its blocks to partial_fit, "
            "or pass what can be read again, such as a file, a table, or a function without arguments that returns a "
            "new iterator of blocks."
        )
