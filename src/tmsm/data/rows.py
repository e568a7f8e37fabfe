"""The rows of a source that lie inside a region, block by block: checked, filtered, with their border."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np

from tmsm.data.blocks import (
    BORDER_TOLERANCE,
    Block,
    BlockReader,
    OutsideReport,
    OutsideRowsError,
    StrayReport,
    StrayRowsError,
)
from tmsm.data.covariates import ColumnSums, Covariates, CovariatesInBlocks, Standard
from tmsm.data.device_source import DeviceSource, is_on_device
from tmsm.data.groups import Groups, GroupSums
from tmsm.data.opening import as_table, opened
from tmsm.data.passes import BlockPass, Grouped, LoopPass, Summed
from tmsm.data.sources import ArraySource, RawBlock, Source
from tmsm.data.streamed import refuse_one_pass
from tmsm.foundation.arrays import ArrayLike, FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.progress import with_progress
from tmsm.foundation.threads import map_in_order, single_threaded
from tmsm.foundation.validation import check_option, check_sample_weight
from tmsm.manifolds.frames import PLAIN, Frame
from tmsm.regions import BorderView, Region
from tmsm.regions.rounding import find_grid

__all__ = ["BORDER_TOLERANCE", "Block", "Rows", "Sample"]

# Coordinates in a block: few enough to stay in the cache, enough to pay for the hundred or so array
# operations on it.  Threads were tried for these and lost: operations this short spend the gain on
# waiting for the interpreter.
_BLOCK_NUMBERS = 3 * 2**14
# Scales such as the median come from at most this many rows, spread evenly over the table.
_SAMPLE_ROWS = 2**16
# Blocks with distances that are costly are kept for the next pass as long as they have no more numbers: 64 MB.
_KEPT_NUMBERS = 2**23
_KEEPING = Lock()

T = TypeVar("T")
S = TypeVar("S", bound=Summed)


@dataclass(frozen=True)
class Sample:
    """Rows inside the region that count, spread evenly over a table, with all that is known of them."""

    view: BorderView
    weight: FloatArray | None
    groups: Groups | None
    covariates: Covariates | None = None

    @property
    def X(self) -> FloatArray:
        """Points, shape (m, D)."""
        return self.view.X

    def __len__(self) -> int:
        return len(self.view.X)


class Rows:
    """The rows of a source inside a region; `map` goes over them in blocks.

    Each block is checked once, and its distances to the border are computed once, where they are costly and there is
    room for them.  ``n_outside`` counts the rows that the last complete run dropped.  ``on_border``, shape (k, D), are
    those of a table that lay exactly on the border when these rows were `kept` of it.  ``frame`` is what the points
    stand for, as far as their table says.
    """

    def __init__(self, source: Source, region: Region, outside: str = "raise", frame: Frame = PLAIN) -> None:
        self.source = source
        self.region = region
        self.outside = check_option(outside, ["raise", "drop"], "outside")
        self.frame = frame
        self.n_outside = 0
        self.on_border: FloatArray = np.empty((0, source.n_columns))
        self._touching = self.on_border
        self._moved = self._settled = False
        self._sample: Sample | None = None
        # How many of the groups have rows in that sample, before those outside are left out, as a share of all.
        self.share_of_groups = 1.0
        # The border as all rows see it, where all are known to lie inside; else blocks by their first row.
        self._known: BorderView | None = None
        self._kept_blocks: dict[int, tuple[Block | None, int]] = {}
        self._kept_numbers = 0

    @classmethod
    def of(
        cls,
        X: Any,
        region: Region,
        sample_weight: ArrayLike | None = None,
        outside: str = "raise",
        groups: Groups | None = None,
        covariates: Covariates | None = None,
    ) -> Rows:
        """Of a table in memory, (n, D), with weights (n,), groups and covariates; or of a source, which has its own.

        Where the manifold has longitudes, a table may have them in columns with names.  Files and all else that is read
        in blocks are `opened`.
        """
        if is_on_device(X):
            rows = cls(DeviceSource.of(X, region.manifold, sample_weight), region, outside)
            rows = rows if groups is None else rows.with_groups(groups)
            return rows if covariates is None else rows.with_covariates(covariates)
        source = opened(X, region.manifold, sample_weight)
        if source is not None and source is not X:
            sample_weight = None  # it has them
        X = X if source is None else source
        if isinstance(X, Source):
            refuse_one_pass(X)
            if sample_weight is not None or groups is not None or covariates is not None:
                raise InvalidInputError("A source of rows brings its own weights and groups: give none beside it.")
            if X.n_columns != region.manifold.embedding_dim or len(X) == 0:
                raise InvalidInputError(
                    f"The source has {len(X):,} rows of {X.n_columns} columns; points on {region.manifold!r} have "
                    f"{region.manifold.embedding_dim} coordinates."
                )
            return cls(X, region, outside, X.frame)
        table, frame = as_table(X, region.manifold)
        weight = check_sample_weight(sample_weight, len(table))
        return cls(ArraySource(table, weight, groups, covariates), region, outside, frame)

    # Whether `map` reads the source in blocks, that threads can share.
    comes_in_blocks = True

    def __len__(self) -> int:
        return len(self.source)

    @property
    def groups(self) -> Groups | None:
        """Which group each row belongs to; None where rows stand alone."""
        return self.source.groups

    @property
    def covariates(self) -> Covariates | None:
        """What else is known of every row; None where nothing is."""
        return self.source.covariates

    def standard(self) -> Standard | None:
        """Center and scale of the covariates over the rows inside the region; None where there are none."""
        columns = self.covariates
        if columns is None or columns.standard is not None:
            return None if columns is None else columns.standard
        if isinstance(columns, CovariatesInBlocks):
            like = self.sample().covariates
            assert like is not None, "there are some"
            near = like.values
            total = self.total(
                lambda block: ColumnSums.of(cast(FloatArray, block.covariates), block.sample_weight, near)
            )
            assert total is not None, "the sample has rows inside"
            return total.standard(columns.names)
        found = list(self.map(lambda block: (cast(FloatArray, block.covariates), block.weights())))
        values, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Standard.of(values, weights if self.source.weighted else None, columns.names)

    @property
    def sample_stride(self) -> int:
        """A `sample` takes one row of every so many."""
        return self.source.stride(_SAMPLE_ROWS)

    @property
    def effective_number(self) -> float:
        """(Σw)²/Σw² of all rows, or of the groups that they come in."""
        return self.source.effective_number

    def relative_weights(self) -> FloatArray:
        """Sample weights of the rows inside the region, with sum one, shape (n,)."""
        w: FloatArray = np.concatenate(list(self.map(Block.weights)))
        w /= w.sum()
        return w

    def mean_and_parts(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """v̄ = Σ w v over the rows inside, w of sum one, shape (m,) for values (n, m), and what is independent in it.

        These are w (v − v̄) of each row, or their sums over each group, shape (u, m): the sum of their squares is the
        variance of v̄.
        """
        found = list(self.map(lambda block: (block.weights(), block.groups)))
        w = np.concatenate([weights for weights, _ in found])
        w /= w.sum()
        mean: FloatArray = w @ values
        parts: FloatArray = (values - mean) * w[:, None]
        if self.groups is None:
            return mean, parts
        sums = GroupSums(self.groups.count, parts.shape[1] + 1)
        codes = np.concatenate([codes for _, codes in found if codes is not None])
        sums.add(codes, np.column_stack([parts, w]))
        return mean, sums.totals[sums.totals[:, -1] > 0.0, :-1]

    def map(self, function: Callable[[Block], T]) -> Iterator[T]:
        """Apply a function to every block that has rows inside, in order."""
        n_outside = 0
        size = self._block_size
        with single_threaded(len(self) * self.source.n_columns), self._explaining():
            for raw in with_progress(self.source.blocks(size), -(-len(self) // size), "reading rows", _length):
                block, block_outside = self._block(raw)
                n_outside += block_outside
                if block is not None:
                    yield function(block)
        self.n_outside = n_outside
        self._settled = not self._moved  # every row was checked; those that are moved are so each time

    def total(self, function: Callable[[Block], T], *, threaded: bool = False) -> T | None:
        """The sum of what a function gives for every block; None if no row lies inside.

        The function gives something and changes nothing: where the rows lie elsewhere it is sent there.  ``threaded``
        says that it spends its time in compiled loops, so that blocks go to all threads; they are added in their order.
        """
        if self.source.lies_elsewhere:
            return self._total_elsewhere(BlockPass(self._reader, function), self._block_size)
        total: Any = None
        for part in self._threaded_map(function) if threaded and self.comes_in_blocks else self.map(function):
            total = part if total is None else total + part
        return cast("T | None", total)

    def grouped_total(
        self, function: Callable[[Block], tuple[T, FloatArray]], *, threaded: bool = False
    ) -> tuple[T | None, FloatArray]:
        """The sum of what a function gives first, and over each group the sum of the rows (n, m) that it gives then.

        The second has the shape (G, m).
        """
        assert self.groups is not None, "the rows come in groups"
        if self.source.lies_elsewhere:
            found = self._total_elsewhere(BlockPass(self._reader, Grouped(function)), self._block_size)
            part, sums = (None, None) if found is None else (found.part, found.sums)
            return part, np.empty((self.groups.count, 0)) if sums is None else sums.totals(self.groups.count)
        by_group: GroupSums | None = None
        total: Any = None
        # Sums over groups are added in place, in the order of the rows.
        both = Grouped(function)
        for found in self._threaded_map(both) if threaded and self.comes_in_blocks else self.map(both):
            by_group = by_group or GroupSums(self.groups.count, found.sums.values.shape[1])
            by_group.add_sums(found.sums)
            total = found.part if total is None else total + found.part
        return total, np.empty((self.groups.count, 0)) if by_group is None else by_group.totals

    def _threaded_map(self, function: Callable[[Block], T]) -> Iterator[T]:
        def work(raw: RawBlock) -> tuple[T | None, int]:
            block, n_outside = self._block(raw)
            return None if block is None else function(block), n_outside

        size, n_outside = self._block_size, 0
        with single_threaded(len(self) * self.source.n_columns), self._explaining():
            blocks = with_progress(self.source.blocks(size), -(-len(self) // size), "reading rows", _length)
            for _, (part, block_outside) in map_in_order(work, blocks, anywhere=self.source.reads_anywhere):
                n_outside += block_outside
                if part is not None:
                    yield part
        self.n_outside = n_outside
        self._settled = not self._moved

    def compiled_total(
        self, size: int, loop: Callable[[RawBlock], S | None], by_arrays: Callable[[Block], S]
    ) -> S | None:
        """The sum of what a compiled loop gives for every block of so many rows; None if no row lies inside.

        Blocks go to all threads, and are added in their order.  A block that the loop refuses, or that has rows outside
        where there may be none, is read again by arrays, which say what is wrong with it.
        """
        if self.source.lies_elsewhere:
            return self._total_elsewhere(BlockPass(self._reader, by_arrays), size, LoopPass(self.outside, loop))
        total: Any = None
        n_outside = 0
        blocks = with_progress(self.source.loop_blocks(size), -(-len(self) // size), "reading rows", _length)
        with self._explaining():
            for raw, found in map_in_order(loop, blocks, anywhere=self.source.reads_anywhere):
                if found is None or (found.n_outside and self.outside == "raise"):
                    for piece in self.source.in_memory_by(self._block_size, raw):
                        block, block_outside = self._new_block(piece)
                        n_outside += block_outside
                        if block is not None:
                            part = by_arrays(block)
                            total = part if total is None else total + part
                    continue
                n_outside += found.n_outside
                if found.n:
                    total = found if total is None else total + found
        self.n_outside = n_outside
        return cast("S | None", total)

    def _total_elsewhere(self, one_pass: BlockPass[T], size: int, loop: LoopPass[T] | None = None) -> T | None:
        """The sum over the blocks of a source whose rows lie in other processes."""
        with self._explaining():
            counted = self.source.reduce(one_pass, size, loop=loop)
        assert counted is not None, "the source has rows"
        self.n_outside = counted.n_outside
        return counted.part

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Rows that are refused are counted, and the worst of them named."""
        try:
            yield
        except StrayRowsError:
            raise InvalidInputError(self._describe_strays()) from None
        except OutsideRowsError:
            raise InvalidInputError(self.describe_outside()) from None

    @property
    def _reader(self) -> BlockReader:
        return BlockReader(self.region, self.outside, len(self))

    def sample(self) -> Sample:
        """Rows with weight inside the region, spread evenly over the table: for scales.

        Empty only if there are none.
        """
        if self._sample is None:
            self._sample = self._sampled()
        return self._sample

    def _sampled(self) -> Sample:
        raw = self.source.sample(_SAMPLE_ROWS)
        with self._explaining():
            X, weight, codes, covariates = self._read(raw.X), raw.weight, raw.groups, raw.covariates
        if self.groups is not None and codes is not None:
            self.share_of_groups = len(np.unique(codes)) / self.groups.count
        if weight is not None and not (weight > 0.0).all():
            counted = weight > 0.0
            X, weight = X[counted], weight[counted]
            codes = None if codes is None else codes[counted]
            covariates = None if covariates is None else covariates[counted]
        view = BorderView(self.region, X)
        if self.region.has_border and len(X):
            d = view.depth()
            self._touching = X[d == 0.0]
            with self._explaining():
                inside = self._reader.is_inside(X, d)
            if inside is not None:
                view = view.where(inside)
                weight = None if weight is None else weight[inside]
                codes = None if codes is None else codes[inside]
                covariates = None if covariates is None else covariates[inside]
        if len(view.X) == 0:  # such rows may be rare
            return self._first_rows()
        if len(view.X) == len(self):
            self._known = view  # all of them
        groups = None if self.groups is None else Groups(cast(IntArray, codes), self.groups.count).compact()
        return Sample(view, weight, groups, self._columns_of(covariates))

    def _columns_of(self, values: FloatArray | None) -> Covariates | None:
        """Covariates (m, q) of some of the rows, with the names that those of all have."""
        columns = self.covariates
        return None if columns is None or values is None else Covariates(values, columns.names, columns.standard)

    def _first_rows(self) -> Sample:
        """The first rows that count, of a table in which these are rare."""
        none, q = np.zeros(0, dtype=np.intp), 0 if self.covariates is None else len(self.covariates.names)
        found = [(np.empty((0, self.source.n_columns)), np.empty(0), none, np.empty((0, q)))]
        n = 0
        for block in self.map(lambda block: block):
            w = block.weights()
            if n >= _SAMPLE_ROWS:
                continue  # only to count what lies outside
            n += int(np.count_nonzero(w > 0.0))
            codes = np.zeros(len(w), dtype=np.intp) if block.groups is None else block.groups
            values = np.empty((len(w), 0)) if block.covariates is None else block.covariates
            found.append((block.X[w > 0.0], w[w > 0.0], codes[w > 0.0], values[w > 0.0]))
        X, weight, codes, values = (np.concatenate(parts)[:_SAMPLE_ROWS] for parts in zip(*found, strict=True))
        groups = None if self.groups is None else Groups(codes, self.groups.count).compact()
        view = BorderView(self.region, np.asfortranarray(X))
        return Sample(view, weight if self.source.weighted else None, groups, self._columns_of(values))

    def spread(self, n: int) -> Rows:
        """Some n rows of the `sample` or a few more, without their weights, as rows of their own."""
        sample = self.sample()
        chosen = slice(None, None, max(1, len(sample) // n))
        covariates = None if sample.covariates is None else sample.covariates.take(chosen)
        return Rows._of_view(sample.view.where(chosen), None, None, self.frame, covariates)

    def kept(self) -> Rows:
        """The `sample` as rows of their own: what an estimate keeps to be judged by later."""
        sample = self.sample()
        kept = Rows._of_view(sample.view, sample.weight, sample.groups, self.frame, sample.covariates)
        kept.on_border = self._touching
        return kept

    @classmethod
    def of_kept(
        cls,
        region: Region,
        X: FloatArray,
        weight: FloatArray | None,
        groups: Groups | None,
        on_border: FloatArray,
        frame: Frame,
        covariates: Covariates | None = None,
    ) -> Rows:
        """What `kept` gave once, from points (n, D) that are known to lie inside, and those that lay on the border."""
        rows = cls._of_view(BorderView(region, X), weight, groups, frame, covariates)
        rows.on_border = on_border
        return rows

    @classmethod
    def _of_view(
        cls,
        view: BorderView,
        weight: FloatArray | None,
        groups: Groups | None,
        frame: Frame,
        covariates: Covariates | None,
    ) -> Rows:
        """Of rows that were checked and lie inside."""
        rows = cls(ArraySource(view.X, weight, groups, covariates), view.region, frame=frame)
        rows._known, rows._settled = view, True
        rows._sample = Sample(view, weight, groups, covariates)
        return rows

    def with_groups(self, groups: Groups | None) -> Rows:
        """The same rows, known to come in these groups."""
        return Rows(self.source.with_groups(groups), self.region, self.outside, self.frame)

    def grouped(self, labels: Any) -> Rows:
        """The same rows in groups, by their labels, or by the name of a column of a source."""
        return Rows(self.source.grouped(labels), self.region, self.outside, self.frame)

    def described(self, covariates: Any) -> Rows:
        """The same rows with covariates, from a table, or by names of columns of a source."""
        return Rows(self.source.described(covariates), self.region, self.outside, self.frame)

    def with_covariates(self, covariates: Covariates | None) -> Rows:
        """The same rows with these covariates."""
        return Rows(self.source.with_covariates(covariates), self.region, self.outside, self.frame)

    def check_frame(self, frame: Frame) -> None:
        """Raise where rows are known to be of another frame than those before them."""
        if PLAIN not in (self.frame, frame) and self.frame != frame:
            raise InvalidInputError(
                f"X is in the frame {self.frame.name!r}, and the fit was made in {frame.name!r}: bring them into one."
            )

    def same_as(self, other: Rows) -> bool:
        """Whether two tables have the same rows and weights."""
        (X, weight), (Y, other_weight) = self.source.table(), other.source.table()
        weights = (weight is None) == (other_weight is None)
        if weights and weight is not None and other_weight is not None:
            weights = np.array_equal(weight, other_weight)
        return weights and np.array_equal(X, Y)

    def describe_absence(self) -> str:
        """Say why no row is left to fit."""
        if not self.source.counts:
            return "sample_weight is zero for every row: there is nothing to fit."
        if self.source.weighted and self.n_outside < len(self):
            return "sample_weight is zero for every row inside the region: there is nothing to fit."
        return self.describe_outside()

    def describe_outside(self) -> str:
        """Say how many rows lie outside, and which one farthest."""
        try:
            found = self.source.reduce(partial(OutsideReport.of, self._reader), _SAMPLE_ROWS)
        except StrayRowsError:
            return self._describe_strays()
        assert found is not None, "the source has rows"
        outside, on_border, rounded, worst, depth = (
            found.outside, found.on_border, found.rounded, found.worst, found.depth
        )  # fmt: skip
        n = len(self)
        if outside == n and on_border == n:
            return f"All {n} rows of X lie on the border, where every weight is zero."
        advice = "or drop such rows with outside='drop'."
        if outside == n:
            advice = "and the coordinates. None is left to fit."
        touching = f", {on_border} of them on the border" if 0 < on_border < outside else ""
        if on_border == outside:
            touching = ", on the border"
        if rounded:
            touching += f", {rounded} of them on the border before it was taken in for rounded rows"
        return (
            f"X has {outside} of {n} rows outside the region{touching} "
            f"(worst: row {worst}, {abs(depth):.3g} beyond the border). "
            f"Check the region's side (~region is the other one), {advice}{self._describe_rounding(on_border)}"
        )

    def _describe_rounding(self, on_border: int) -> str:
        """Say what to do where rounding put rows on the border."""
        some = self._read(self.source.sample(_SAMPLE_ROWS).X) if on_border else None
        grid = None if some is None else find_grid(self.region.manifold, some)
        if grid is None:
            return ""
        rows = f"{on_border:,} row{'s' * (on_border > 1)} lie{'s' * (on_border == 1)}"
        return f" {grid.describe()}, and {rows} exactly on the border. {grid.remedy(self.region)}"

    @property
    def _block_size(self) -> int:
        return max(1024, _BLOCK_NUMBERS // self.source.n_columns)

    def _block(self, raw: RawBlock) -> tuple[Block | None, int]:
        """Read, check and filter some rows: the block, and how many rows were dropped; from an earlier pass if kept."""
        found = self._kept_blocks.get(raw.start)
        if found is None:
            found = self._new_block(raw)
            numbers = len(raw.X) * (2 * self.source.n_columns + 1)
            worth = self.region.is_costly or len(self) <= self._block_size
            with _KEEPING:
                if worth and self.region.has_border and self._kept_numbers + numbers <= _KEPT_NUMBERS:
                    self._kept_blocks[raw.start] = found
                    self._kept_numbers += numbers
        return found

    def _new_block(self, raw: RawBlock) -> tuple[Block | None, int]:
        if self._known is not None:
            view = self._known
            if len(raw.X) < len(self):
                view = view.where(slice(raw.start, raw.start + len(raw.X)))
            farthest = float(view.depth().max()) if self.region.has_border else np.inf
            return Block(view, raw.weight, farthest, raw.groups, raw.covariates, len(self)), 0
        return self._reader.inside(raw, self._read(raw.X))

    def _read(self, values: np.ndarray[Any, Any]) -> FloatArray:
        if self._settled:
            return np.array(values, dtype=np.float64, order="F")
        X, moved = self._reader.points(values)
        self._moved |= moved
        return X

    def _describe_strays(self) -> str:
        """Say which rows are no points of the manifold."""
        manifold = self.region.manifold
        if isinstance(self.source, ArraySource):
            return str(manifold.reason(self.source.X))
        found = self.source.reduce(partial(StrayReport.of, self._reader), _SAMPLE_ROWS)
        assert found is not None, "there are such rows"
        return (
            f"X has {found.count:,} of {len(self):,} rows that are no points on {manifold!r} (first: "
            f"{self.source.place_of(found.first)}: {found.shown}). Mend them, or leave such points out."
        )


def _length(raw: RawBlock) -> int:
    return len(raw.X)
