"""Run every example and put it on docs/gallery.md, with its picture.

python -m tools.build_gallery
"""

import ast
import subprocess
import sys

from tools.pages import DOCS, ROOT, fenced, picture

PAGE, PICTURES = DOCS / "gallery.md", DOCS / "gallery"
ORDER = (
    "milky_way",
    "storms",
    "density_map",
    "hemisphere",
    "us_border",
    "sky_mask",
    "kent",
    "box",
    "exposure",
    "wrong_model",
    "protein_angles",
    "orientations",
    "direction_energy",
    "ellipsoid",
)
HEAD = """# Gallery

Each example is a short program with its picture, in the folder `examples/`. Use it as the start of your own.
The command `python examples/storms.py picture.png` runs one of them and draws its picture. Without the name
of a file it only prints its results. Some need the [extras](index.md#install) `sky` or `jax`.
"""
TAIL = """## Where to go next

- [Tutorials](tutorials/index.md): longer examples, with explanations of every step.
- [Models](models.md) and [points and regions](regions.md): all that can be combined.
- [Checking a fit](checking.md): what to look at before you trust a result.
"""


def page() -> str:
    """The text of the page, from the examples' sources."""
    parts = [HEAD]
    for name in ORDER:
        source = (ROOT / "examples" / f"{name}.py").read_text()
        docstring = ast.get_docstring(ast.parse(source)) or ""
        title, _, text = docstring.partition("\n")
        code = source.split('"""', 2)[2].strip()
        parts.append(f"## {title.rstrip('.')}\n\n{text.strip()}\n\n{picture(title, f'gallery/{name}.png')}")
        parts.append(f"<details><summary>examples/{name}.py</summary>\n\n{fenced(code, 'py')}\n</details>\n")
    return "\n".join([*parts, TAIL])


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for name in ORDER:
        print(name, flush=True)
        command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), str(PICTURES / f"{name}.png")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
