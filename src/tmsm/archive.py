"""A fit as a plain JSON document: numbers and words, versioned, no code in it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from tmsm.errors import InvalidInputError
from tmsm.estimators.base import Estimator
from tmsm.estimators.summary import facts_text, plain_table
from tmsm.output import write_text

__all__ = ["FORMAT", "VERSION", "FitRecord"]

FORMAT, VERSION = "tmsm fit", 1
_FIELDS = ("title", "estimates", "table", "facts", "natural_params", "covariance", "n_samples", "made_by")


@final
@dataclass(frozen=True)
class FitRecord:
    """What a fit found, to keep and to show."""

    content: dict[str, Any]

    @staticmethod
    def of(fit: Estimator, made_by: dict[str, str]) -> FitRecord:
        """From a fitted estimator; ``made_by`` says by what command and versions."""
        one = fit._fitted
        goodness = fit.goodness_of_fit_
        with_errors = one.covariance is not None
        errors = fit.std_errors_ if with_errors else {}
        intervals = fit.confidence_interval() if with_errors else {}
        estimates = {
            name: {
                "estimate": _plain(value),
                "std_error": _plain(errors[name]) if with_errors else None,
                "interval_95": _plain(intervals[name]) if with_errors else None,
            }
            for name, value in one.params.items()
        }
        return FitRecord(
            {
                "format": FORMAT,
                "version": VERSION,
                "title": one.title,
                "estimates": estimates,
                "natural_params": _plain(fit.natural_params_),
                "covariance": _plain(fit.covariance_) if with_errors else None,
                "n_samples": fit.n_samples_,
                "n_groups": one.n_groups,
                "goodness_of_fit": None
                if goodness is None
                else {"statistic": goodness.statistic, "df": goodness.df, "p_value": goodness.p_value},
                "table": [list(row) for row in fit.estimate_rows()],
                "facts": [list(pair) for pair in fit.facts()],
                "made_by": made_by,
            }
        )

    @staticmethod
    def load(path: Path) -> FitRecord:
        """From a file; one clear error where it is none of ours."""
        if not path.is_file():
            raise InvalidInputError(f"There is no file {str(path)!r}.")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError):
            raise InvalidInputError(f"{path.name} is not a fit saved by tmsm: it is no JSON.") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidInputError(f"{path.name} is JSON, but not a fit saved by tmsm.")
        if content.get("version") != VERSION:
            raise InvalidInputError(
                f"{path.name} has version {content.get('version')!r} of the format, and this tmsm reads {VERSION}."
            )
        missing = [field for field in _FIELDS if field not in content]
        if missing:
            raise InvalidInputError(f"{path.name} is damaged: it has no {', '.join(missing)}.")
        return FitRecord(content)

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_text(path, self.to_json())

    def to_json(self, *, ensure_ascii: bool = False) -> str:
        """The document's text."""
        text = json.dumps(self.content, indent=2, ensure_ascii=ensure_ascii, allow_nan=False) + "\n"
        # JSON leaves these controls alone, which terminals obey; they can only stand inside strings.
        return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found.group()):04x}", text)

    def to_text(self) -> str:
        """The table and the facts as plain text."""
        table = plain_table(self.content["table"])
        return "\n".join([self.content["title"], table, "─" * 60, facts_text(self.content["facts"])])


def _plain(value: Any) -> Any:
    """Numbers and lists of them; what is not finite becomes None."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return float(array) if np.isfinite(array) else None
    return [_plain(part) for part in array]
