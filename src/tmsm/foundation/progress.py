"""A progress bar for whatever takes longer than two seconds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["PATIENCE", "with_progress"]

# Seconds that pass in silence.
PATIENCE = 2.0

T = TypeVar("T")
# Only the outermost loop shows a bar.
_shown = False


def with_progress(items: Iterable[T], total: int | None, description: str, rows: int = 0) -> Iterator[T]:
    """Pass items on; if they take longer than two seconds, show a bar on standard error from then on.

    ``total`` is None where nobody knows how many there are; of items with so many ``rows`` each the bar says how many
    are read in a second.
    """
    global _shown
    start, bar = time.monotonic(), None
    try:
        for done, item in enumerate(items, start=1):
            yield item
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done, description=_said(description, done * rows, start))
            elif not _shown and (total is None or done < total) and time.monotonic() - start > PATIENCE:
                from rich.console import Console
                from rich.progress import Progress

                console = Console(stderr=True)
                bar = Progress(console=console, transient=True, disable=not console.is_terminal)
                bar.add_task(_said(description, done * rows, start), total=total, completed=done)
                bar.start()
                _shown = True
    finally:
        if bar is not None:
            bar.stop()
            _shown = False


def _said(description: str, rows: int, start: float) -> str:
    """What is done, and how fast."""
    if not rows:
        return description
    return f"{description} ({rows / max(time.monotonic() - start, 1e-9):,.0f} a second)"
