"""Lines of numbers and words as a data frame of the library that somebody works with."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, MissingDependencyError

__all__ = ["native_frame"]


def native_frame(names: Sequence[str], lines: Sequence[Sequence[Any]], backend: Any, *, words: Collection[str]) -> Any:
    """A data frame of pandas, polars or pyarrow; columns are numbers, None where missing, but for those of words."""
    try:
        import narwhals
    except ImportError:
        raise MissingDependencyError("Data frames need narwhals: pip install narwhals.") from None
    if not isinstance(backend, str):
        raise InvalidTypeError(f"backend must be 'pandas', 'polars' or 'pyarrow'; got {type(backend).__name__}.")
    columns = {name: [line[k] for line in lines] for k, name in enumerate(names)}
    schema = {name: narwhals.String() if name in words else narwhals.Float64() for name in names}
    try:
        make: Any = narwhals.from_dict
        return make(columns, schema, backend=backend).to_native()
    except ImportError:
        raise MissingDependencyError(
            f"backend={backend!r} needs the package {backend}: pip install {backend}."
        ) from None
    except (AssertionError, ValueError, TypeError):  # some versions of narwhals assert that they know the name
        raise InvalidInputError(f"backend must be 'pandas', 'polars' or 'pyarrow'; got {backend!r}.") from None
