"""Parts of Markdown pages that are made from programs and their pictures."""

from pathlib import Path

__all__ = ["DOCS", "ROOT", "fenced", "picture"]

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def fenced(text: str, language: str) -> str:
    """A block of code or of output.

    Programs on made pages are "py": tests run the "python" of pages, and these have tests of their own.
    """
    return f"```{language}\n{text}\n```\n"


def picture(words: str, path: str) -> str:
    return f"![{words}]({path})\n"
