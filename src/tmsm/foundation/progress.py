"""A progress bar for whatever takes longer than two seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["PATIENCE", "with_progress"]

# Seconds that pass in silence.
PATIENCE = 2.0

T = TypeVar("T")
# Only the outermost loop shows a bar.
_shown = False


def with_progress(
    items: Iterable[T], total: int | None, description: str, rows: Callable[[T], int] | None = None
) -> Iterator[T]:
    """Pass items on; if they take longer than two seconds, show a bar on standard error from then on.

    ``total`` is None where nobody knows how many there are.  With ``rows``, which says how many an item has, the bar
    tells how many pass in a second.
    """
    global _shown
    start, bar, n_rows = time.monotonic(), None, 0
    try:
        for done, item in enumerate(items, start=1):
            yield item
            n_rows += 0 if rows is None else rows(item)
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done, description=_said(description, n_rows, start))
            elif not _shown and (total is None or done < total) and time.monotonic() - start > PATIENCE:
                from rich.console import Console
                from rich.progress import Progress

                console = Console(stderr=True)
                bar = Progress(console=console, transient=True, disable=not console.is_terminal)
                bar.add_task(_said(description, n_rows, start), total=total, completed=done)
                bar.start()
                _shown = True
    finally:
        if bar is not None:
            if not bar.disable:  # some versions of rich end a line even where they showed nothing
                bar.stop()
            _shown = False


def _said(description: str, n_rows: int, start: float) -> str:
    """What is done, and how fast."""
    if not n_rows:
        return description
    return f"{description} ({n_rows / max(time.monotonic() - start, 1e-9):,.0f} a second)"
