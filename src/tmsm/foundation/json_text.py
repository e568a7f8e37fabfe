"""JSON from files of others: one clear error for whatever is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tmsm.foundation.errors import InvalidInputError

__all__ = ["parse_json", "read_json"]


def read_json(path: Path, hint: str = "") -> Any:
    """What a JSON file holds, in any of Unicode's encodings, with or without a byte-order mark.

    ``hint`` ends the message about a file that is no text.
    """
    data = path.read_bytes()
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{str(path)!r} is not JSON: it is not text in UTF-8.{' ' if hint else ''}{hint}"
        ) from None
    return parse_json(text, path.name)


def parse_json(text: str, name: str) -> Any:
    """What JSON text holds."""
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{name} is not JSON: {error}.") from None
    except RecursionError:
        raise InvalidInputError(f"{name} cannot be read: its brackets are nested too deep.") from None
    except ValueError:  # Python refuses to convert them
        raise InvalidInputError(f"{name} cannot be read: it holds a whole number of thousands of digits.") from None
