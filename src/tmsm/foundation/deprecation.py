"""Names that were replaced: the old ones go on working for a while, with a warning that says the new one.

For a name of the package, put a `Renamed` into ``_RENAMED`` of ``tmsm/__init__.py``; for a method, ``renamed_method``
under its old name into the class; for an argument, the decorator ``renamed_argument`` on the function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tmsm.foundation.errors import InvalidTypeError, TmsmDeprecationWarning

__all__ = ["Renamed", "renamed_argument", "renamed_method"]

_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")


@dataclass(frozen=True)
class Renamed:
    """A name that was replaced.

    Parameters
    ----------
    old, new
        The name of before, and the name of now.
    since
        The version that brought the new name, such as "0.3".
    until
        The version in which the old name stops working, at least two minor versions later.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Renamed("Disc", "Cap", since="0.3", until="0.5").found_in(SimpleNamespace(Cap=1))
    1
    >>> print(caught[0].message)
    Disc is called Cap since tmsm 0.3. The old name stops working in tmsm 0.5.
    """

    old: str
    new: str
    since: str
    until: str

    def warn(self, depth: int = 1) -> None:
        """Warn at the line of the user; ``depth`` counts the functions between this method and that line."""
        text = (
            f"{self.old} is called {self.new} since tmsm {self.since}. The old name stops working in tmsm {self.until}."
        )
        warnings.warn(text, TmsmDeprecationWarning, stacklevel=depth + 2)

    def found_in(self, place: object) -> Any:
        """What has the new name in a module or an object, with a warning; to be called by ``__getattr__``."""
        self.warn(depth=2)
        return getattr(place, self.new)


def renamed_method(renamed: Renamed) -> Callable[..., Any]:
    """A method under its old name, which warns and calls the one with the new name."""

    def old(self: Any, *args: Any, **kwargs: Any) -> Any:
        renamed.warn()
        return getattr(self, renamed.new)(*args, **kwargs)

    old.__name__, old.__doc__ = renamed.old, f"The old name of `{renamed.new}`, until version {renamed.until}."
    return old


def renamed_argument(renamed: Renamed) -> Callable[[Callable[_Taken, _Given]], Callable[_Taken, _Given]]:
    """A decorator of functions that take the old name of an argument for the new one, with a warning."""

    def decorated(function: Callable[_Taken, _Given]) -> Callable[_Taken, _Given]:
        @wraps(function)
        def taken(*args: _Taken.args, **kwargs: _Taken.kwargs) -> _Given:
            if renamed.old in kwargs:
                if renamed.new in kwargs:
                    raise InvalidTypeError(
                        f"{renamed.old} is the old name of {renamed.new}: give {renamed.new} alone, not both."
                    )
                renamed.warn()
                kwargs[renamed.new] = kwargs.pop(renamed.old)
            return function(*args, **kwargs)

        return taken

    return decorated
