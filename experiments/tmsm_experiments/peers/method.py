"""What is compared: a function of a package, and the errors that it makes."""

import importlib
import importlib.util
import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

# Name on the page -> (what is installed, what is imported).
PACKAGES = {
    "SciPy": ("scipy", "scipy"),
    "scikit-learn": ("scikit-learn", "sklearn"),
    "pygmmis": ("pygmmis", "pygmmis"),
    "geomstats": ("geomstats", "geomstats"),
    "PyRecEst": ("pyrecest", "pyrecest"),
    "tmsm": ("tmsm", "tmsm"),
}
NOT_INSTALLED = "could not be installed"


@dataclass(frozen=True)
class Method:
    """A call of a package: rows -> estimates by name, as far as it has them."""

    package: str
    call: str
    estimate: Callable[[Any], Mapping[str, Any]]

    def why_not(self) -> str | None:
        """Why it cannot be measured here; None where it can."""
        if importlib.util.find_spec(PACKAGES[self.package][1]) is None:
            return NOT_INSTALLED
        try:
            importlib.import_module(PACKAGES[self.package][1])
        except Exception as error:  # whatever a package of others raises
            return f"cannot be imported: {type(error).__name__}: {error}"
        return None

    def __call__(self, rows: Any) -> Mapping[str, Any]:
        """The estimates, without what others print and warn of."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.estimate(rows)


def versions() -> dict[str, str | None]:
    """Name on the page -> installed version; None where there is none."""
    found: dict[str, str | None] = {}
    for name, (distribution, _) in PACKAGES.items():
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def quiet() -> None:
    """Keep what others log off the screen."""
    logging.disable(logging.WARNING)
