"""Exceptions: every one is also the built-in type a caller would expect."""

__all__ = [
    "ClusterError",
    "CrossingError",
    "DownloadError",
    "EstimationError",
    "InvalidInputError",
    "InvalidTypeError",
    "MissingDependencyError",
    "NotFittedError",
    "TmsmDeprecationWarning",
    "TmsmError",
    "TmsmWarning",
    "TooManyNodesError",
    "UnknownColumnsError",
]


class TmsmError(Exception):
    """Base class of all errors that tmsm raises on purpose."""


class InvalidInputError(TmsmError, ValueError):
    """An argument has the right type, but a value that cannot be used."""


class UnknownColumnsError(InvalidInputError):
    """It is not clear which columns of a table are meant.

    Parameters
    ----------
    problem
        What is wrong.
    advice
        What to do; the message has both.
    frame
        The frame of the columns that the table has, if it is another one than was asked for.
    """

    def __init__(self, problem: str, advice: str, frame: str | None = None) -> None:
        super().__init__(f"{problem} {advice}")
        self.problem = problem
        self.frame = frame


class ClusterError(TmsmError, RuntimeError):
    """The processes that sum the rows cannot go on."""


class CrossingError(InvalidInputError):
    """Sides of a border cross."""


class InvalidTypeError(TmsmError, TypeError):
    """An argument has a type that cannot be used."""


class EstimationError(TmsmError, ValueError):
    """The input has the right form, but the data do not determine the estimate."""


class TooManyNodesError(EstimationError):
    """The integral over a region would need too many nodes for this density."""


class DownloadError(TmsmError, OSError):
    """A file could not be downloaded."""


class MissingDependencyError(TmsmError, ImportError):
    """An optional package is not installed."""


class NotFittedError(TmsmError, ValueError, AttributeError):
    """A result was read before there was a fit."""


class TmsmWarning(UserWarning):
    """A warning: something to know that does not make the result invalid."""


class TmsmDeprecationWarning(TmsmWarning, FutureWarning):
    """A name was replaced, and the old one will stop working."""
