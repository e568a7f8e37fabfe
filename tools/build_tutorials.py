"""Run every tutorial and put it on a page of docs/tutorials, with what it shows.

python -m tools.build_tutorials [NAME …]
python -m tools.build_tutorials --notebooks FOLDER
"""

import base64
import itertools
import re
import sys
import tempfile
from pathlib import Path

import jupytext

from tools.notebooks import Cell, run
from tools.pages import DOCS, ROOT, fenced, picture

__all__ = ["NAMES", "PAGES", "SOURCES", "page", "pictures", "write_notebooks"]

SOURCES, PAGES = ROOT / "tutorials", DOCS / "tutorials"
NAMES = ("galactic_centre", "coast", "density_map", "own_manifold", "large_table")
_EMBEDDED = re.compile(r'src="data:image/png;base64,([^"]+)"')
_DOCS, _OTHER = re.compile(r"\]\(\.\./docs/"), re.compile(r"\]\((\w+)\.py\)")


def page(name: str, cells: list[Cell]) -> str:
    """The text of a tutorial's page, from its cells with what they showed."""
    parts: list[str] = []
    number = itertools.count(1)
    for cell in cells:
        if not cell.is_code:
            parts.append(_linked(cell.source, "../", "md") + "\n")
            continue
        shown = [fenced(cell.printed, "text")] if cell.printed else []
        if cell.html:
            shown.append(_EMBEDDED.sub(lambda _: f'src="{name}/{next(number)}.png"', _plain(cell.html)) + "\n")
        shown += [picture(cell.about["alt"], f"{name}/{next(number)}.png") for _ in cell.pictures]
        if "varies" in cell.about.get("tags", []):
            shown = ["<!-- varies -->\n", *shown, "<!-- end -->\n"]
        parts += [fenced(cell.source, "py"), *shown]
    return "\n".join(parts)


def pictures(cells: list[Cell]) -> list[bytes]:
    """The pictures of a page, in its order."""
    return [one for cell in cells for one in (*map(base64.b64decode, _EMBEDDED.findall(cell.html)), *cell.pictures)]


def _plain(html: str) -> str:
    """HTML of a notebook without styles of its own, so that tables look like those of the page."""
    html = re.sub(r"<style.*?</style>|\n", "", html, flags=re.DOTALL)
    return re.sub(r' (border|class|style)="[^"]*"', "", html)


def _linked(text: str, docs: str, ending: str) -> str:
    """Text whose links lead from another folder to the documentation, and to other tutorials with another ending."""
    return _OTHER.sub(rf"](\1.{ending})", _DOCS.sub(f"]({docs}", text))


def write_notebooks(folder: Path) -> None:
    """Notebooks that are not run yet, in a folder of a folder of the repository."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        notebook = jupytext.read(SOURCES / f"{name}.py", fmt="py:percent")
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = _linked(cell.source, "../../docs/", "ipynb")
        jupytext.write(notebook, folder / f"{name}.ipynb", fmt="ipynb")


def main(names: list[str]) -> None:
    for name in names:
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            cells, _ = run(SOURCES / f"{name}.py", Path(folder))
        (PAGES / name).mkdir(parents=True, exist_ok=True)
        for old in (PAGES / name).glob("*.png"):
            old.unlink()
        for number, data in enumerate(pictures(cells), 1):
            (PAGES / name / f"{number}.png").write_bytes(data)
        (PAGES / f"{name}.md").write_text(page(name, cells), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--notebooks"]:
        write_notebooks(Path(sys.argv[2]))
    else:
        main(sys.argv[1:] or list(NAMES))
