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
    "TmsmError",
    "TmsmWarning",
    "TooManyNodesError",
    "UnknownColumnsError",
]


class TmsmError(Exception):
    """Base class of everything tmsm raises on purpose."""


class InvalidInputError(TmsmError, ValueError):
    """An argument has the right type and a value that cannot be used."""


class UnknownColumnsError(InvalidInputError):
    """It is not clear which columns of a table are meant.

    ``problem`` says why, without the advice that follows it in the message.  ``frame`` names the frame that the table
    has columns of, where it is another one than was asked for.
    """

    def __init__(self, problem: str, advice: str, frame: str | None = None) -> None:
        super().__init__(f"{problem} {advice}")
        self.problem = problem
        self.frame = frame


class ClusterError(TmsmError, RuntimeError):
    """The processes that were to sum the rows could not."""


class CrossingError(InvalidInputError):
    """Edges of a border cross."""


class InvalidTypeError(TmsmError, TypeError):
    """An argument has a type that cannot be used."""


class EstimationError(TmsmError, ValueError):
    """The input is well formed, but the data cannot carry the estimate that was asked for."""


class TooManyNodesError(EstimationError):
    """A grid fine enough for a region and a density would have too many nodes."""


class DownloadError(TmsmError, OSError):
    """A file could not be downloaded."""


class MissingDependencyError(TmsmError, ImportError):
    """An optional package is needed that is not installed."""


class NotFittedError(TmsmError, ValueError, AttributeError):
    """A fitted attribute was read before there was a fit."""


class TmsmWarning(UserWarning):
    """Something worth knowing that does not invalidate the result."""
