"""Read and run notebooks that are written as programs: what each cell shows, as Jupyter would show it."""

import ast
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jupytext
from PIL import Image

__all__ = ["Cell", "read", "run"]

_DPI = 110


@dataclass
class Cell:
    """One cell: its text, whether it is code, what its header says, and what it showed."""

    source: str
    is_code: bool
    about: dict[str, Any]
    printed: str = ""
    html: str = ""
    pictures: list[bytes] = field(default_factory=list)


def read(path: Path) -> list[Cell]:
    """The cells of a program in jupytext's percent format."""
    cells = jupytext.read(path, fmt="py:percent").cells
    return [Cell(cell.source, cell.cell_type == "code", dict(cell.metadata)) for cell in cells]


def run(path: Path, folder: Path) -> tuple[list[Cell], dict[str, Any]]:
    """The cells with what they show, and their variables; run in a folder, which gets the files that they write."""
    cells = read(path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with _working_in(folder):
        for k, cell in enumerate(cells):
            if cell.is_code:
                _run_cell(cell, f"{path.name}, cell {k}", namespace)
    return cells, namespace


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run_cell(cell: Cell, name: str, namespace: dict[str, Any]) -> None:
    """Run a cell. A notebook shows the value of its last line, and the figures that are open at its end."""
    import matplotlib.pyplot as plt

    tree = ast.parse(cell.source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, name, "exec"), namespace)
        value = None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), namespace)
        if hasattr(value, "_repr_html_"):
            cell.html = value._repr_html_()
        elif value is not None:
            print(repr(value))
    cell.printed = "\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines())
    for number in plt.get_fignums():
        cell.pictures.append(_drawn(plt.figure(number)))
    plt.close("all")


def _drawn(figure: Any) -> bytes:
    """A figure as PNG with 256 colours, a third of the size of one with all."""
    drawn, written = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=_DPI)
    Image.open(drawn).convert("RGB").quantize(256).save(written, format="PNG", optimize=True)
    return written.getvalue()
