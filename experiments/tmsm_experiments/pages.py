"""Measured tables on pages of the documentation, each between its marks."""

__all__ = ["placed", "table"]


def table(rows):
    """Rows of cells as Markdown; the first is the heading."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "| " + " | ".join(["---"] * len(rows[0])) + " |", *body])


def placed(page, name, text):
    """A page with a text between the marks of that name."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- end of {name} -->"
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"
