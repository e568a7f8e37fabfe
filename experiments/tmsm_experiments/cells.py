"""Work in cells: computed in parallel, each kept in a file as soon as it is done, and never computed twice."""

import csv
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import tmsm
import tmsm_experiments

Rows = list[dict[str, str]]


class Cell(Protocol):
    """Something to compute with a name of its own."""

    @property
    def name(self) -> str: ...

    def compute(self) -> Rows: ...


@dataclass(frozen=True)
class Store:
    """Finished cells, as CSV files in a folder; ``folder`` None keeps nothing.

    Cells of other code are left alone and not used: the folder's name carries a digest of the sources.
    """

    folder: Path | None

    def _path(self, name: str) -> Path:
        return self.folder / sources_digest() / f"{name}.csv"

    def read(self, name: str) -> Rows | None:
        if self.folder is None or not self._path(name).is_file():
            return None
        with self._path(name).open(newline="") as file:
            return list(csv.DictReader(file))

    def write(self, name: str, rows: Rows) -> None:
        if self.folder is not None:
            write_csv(self._path(name), rows)


def write_csv(path: Path, rows: Sequence[dict]) -> None:
    """The rows under the names of the first one's columns."""

    def save(temporary: Path) -> None:
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    write_whole(path, save)


def write_whole(path: Path, save) -> None:
    """Save under another name and rename: a file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        save(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def sources_digest() -> str:
    """A digest of every source that could change a number."""
    digest = hashlib.sha256()
    for package in (tmsm, tmsm_experiments):
        root = Path(package.__file__).parent
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def run_cells(cells: Sequence[Cell], store: Store, jobs: int, description: str) -> dict[str, Rows]:
    """Name -> rows of every cell, from the store or computed: by the active Dask client, or by ``jobs`` processes."""
    found = {cell.name: rows for cell in cells if (rows := store.read(cell.name)) is not None}
    left = [cell for cell in cells if cell.name not in found]
    with progress(description, len(cells), len(found)) as advance:
        for name, rows in _computed(left, jobs):
            store.write(name, rows)
            found[name] = rows
            advance()
    return found


def _compute(cell: Cell) -> tuple[str, Rows]:
    return cell.name, cell.compute()


def _computed(cells: Sequence[Cell], jobs: int) -> Iterator[tuple[str, Rows]]:
    client = _cluster()
    if client is None and (jobs == 1 or len(cells) < 2):
        yield from map(_compute, cells)
        return
    from joblib import Parallel, delayed, parallel_config

    with nullcontext() if client is None else parallel_config(backend="dask", client=client):
        parallel = Parallel(n_jobs=jobs if client is None else -1, batch_size=1, return_as="generator_unordered")
    yield from parallel(delayed(_compute)(cell) for cell in cells)


def _cluster():
    """The active client of a Dask cluster, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


@contextmanager
def progress(description: str, total: int, done: int = 0):
    """A bar with the time left on a terminal's standard error; elsewhere a line at the start."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        console.print(f"{description}: {total - done} of {total} parts to compute …", highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, TextColumn("left"), TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(description, total=total, completed=done)
        yield lambda: bar.advance(task)
