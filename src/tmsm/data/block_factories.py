"""Rows from a program: a function that returns their blocks anew each time, or an iterator that gives them once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tmsm.data.named_tables import FramedPoints, framed_points
from tmsm.data.sources import RawBlock
from tmsm.data.streamed import StreamedSource
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, TmsmError
from tmsm.manifolds import Manifold
from tmsm.manifolds.frames import PLAIN, Frame

__all__ = ["FactorySource", "OnceSource", "as_table"]


def as_table(X: Any, manifold: Manifold, *, empty: bool = False) -> tuple[np.ndarray[Any, Any], Frame]:
    """Rows in memory as a numeric table (n, D), as it is, and the frame that its columns name; points are not checked.

    Where the manifold has longitudes, a table may have them in columns with names.
    """
    framed = framed_points(X) if manifold.has_longitudes or isinstance(X, FramedPoints) else None
    table = manifold.as_rows(X if framed is None else framed.X, empty=empty)
    return table, PLAIN if framed is None else framed.frame


class FactorySource(StreamedSource):
    """The blocks of a function without arguments, which returns a new iterator of them each time.

    Parameters
    ----------
    factory
        What gives the blocks: arrays (n_k, D), or tables whose columns have names.
    manifold
        Where the points lie.
    """

    def __init__(self, factory: Callable[[], Iterable[Any]], manifold: Manifold) -> None:
        self._factory = factory
        self._manifold = manifold
        self._frame: Frame | None = None

    @property
    def title(self) -> str:
        return "The function that gives blocks"

    @property
    def n_columns(self) -> int:
        return self._manifold.embedding_dim

    @property
    def frame(self) -> Frame:
        if self._frame is None:
            next(self.pieces(), None)
        return PLAIN if self._frame is None else self._frame

    def pieces(self) -> Iterator[RawBlock]:
        for number, block in enumerate(self._begin()):
            try:
                table, frame = as_table(block, self._manifold, empty=True)
            except TmsmError as error:
                kind = InvalidTypeError if isinstance(error, InvalidTypeError) else InvalidInputError
                raise kind(f"Block {number:,} of the function that gives blocks: {error}") from None
            if self._frame is None:
                self._frame = frame
            if frame != self._frame:
                raise InvalidInputError(
                    f"Block {number:,} of the function that gives blocks is in the frame {frame.name!r}, and those "
                    f"before it in {self._frame.name!r}: bring them into one."
                )
            if len(table):
                yield RawBlock(0, table, None, None)

    def _begin(self) -> Iterator[Any]:
        try:
            given = self._factory()
        except TypeError as error:
            if "argument" not in str(error):
                raise
            raise InvalidTypeError(
                f"A function that gives blocks must need no arguments ({error}): wrap it, as in lambda: read(path)."
            ) from None
        if isinstance(given, np.ndarray) or not isinstance(given, Iterable):
            raise InvalidTypeError(
                "A function that gives blocks must return an iterator of arrays (n, D), such as a generator; got "
                f"{type(given).__name__}."
            )
        return iter(given)


class OnceSource(StreamedSource):
    """The blocks of an iterator, which can be read once.

    Parameters
    ----------
    blocks
        What gives the blocks: arrays (n_k, D), or tables whose columns have names.
    manifold
        Where the points lie.
    """

    def __init__(self, blocks: Iterator[Any], manifold: Manifold) -> None:
        self._inner = FactorySource(lambda: blocks, manifold)

    @property
    def title(self) -> str:
        return "An iterator of blocks"

    @property
    def rereadable(self) -> bool:
        return False

    @property
    def n_columns(self) -> int:
        return self._inner.n_columns

    def pieces(self) -> Iterator[RawBlock]:
        return self._inner.pieces()
