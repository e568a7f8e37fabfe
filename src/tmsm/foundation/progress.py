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


def with_progress(items: Iterable[T], total: int, description: str) -> Iterator[T]:
    """Pass items on; if they take longer than two seconds, show a bar on standard error from then on."""
    global _shown
    start, bar = time.monotonic(), None
    try:
        for done, item in enumerate(items, start=1):
            yield item
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done)
            elif not _shown and done < total and time.monotonic() - start > PATIENCE:
                from rich.console import Console
                from rich.progress import Progress

                console = Console(stderr=True)
                bar = Progress(console=console, transient=True, disable=not console.is_terminal)
                bar.add_task(description, total=total, completed=done)
                bar.start()
                _shown = True
    finally:
        if bar is not None:
            bar.stop()
            _shown = False
