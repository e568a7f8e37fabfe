"""A fit as a plain JSON document: numbers and words, versioned, no code in it.

Its first members are for people and other programs.  The last one, "fit", is what an estimator is made from again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from tmsm.display.summary import estimate_rows, facts_of, further_tables
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.given_files import check_file
from tmsm.foundation.json_text import read_json
from tmsm.foundation.text import facts_text, plain_table
from tmsm.foundation.validation import short_repr
from tmsm.foundation.whole_files import write_text
from tmsm.inference.centre_moves import centre_moves
from tmsm.inference.centres import centres_of, row_shares
from tmsm.inference.covariate_tests import CovariateTest
from tmsm.inference.fit import Fit, Fitted
from tmsm.inference.row_weights import weightless_rows
from tmsm.inference.stored import MEMBERS, stored_fit
from tmsm.matching.robust import Robust
from tmsm.models.parameters import Field

__all__ = ["FORMAT", "NUMBERS_ONLY", "VERSION", "FitRecord", "components_of", "plain_numbers", "versions"]

FORMAT, VERSION = "tmsm fit", 2
# Version 1, of tmsm 0.1, has the numbers and words of a fit as version 2 has them, and nothing else.
NUMBERS_ONLY = 1
_FIELDS = ("title", "estimates", "table", "facts", "natural_params", "covariance", "n_samples", "made_by")


@final
@dataclass(frozen=True)
class FitRecord:
    """What a fit found, to keep and to show."""

    content: dict[str, Any]

    @staticmethod
    def of(fit: Fitted, made_by: dict[str, str], *, whole: bool = False) -> FitRecord:
        """From a fitted estimator; ``made_by`` says by what command and versions.

        The ``whole`` fit has its rows and all that an estimator is made from again.
        """
        one = fit.result_
        goodness = one.goodness_of_fit
        with_errors = one.covariance is not None
        errors = one.std_errors if with_errors else {}
        intervals = one.intervals(0.95, None) if with_errors else {}
        estimates = {
            name: {
                "estimate": plain_numbers(value),
                "std_error": plain_numbers(errors[name]) if with_errors else None,
                "interval_95": plain_numbers(intervals[name]) if with_errors else None,
            }
            for name, value in one.params.items()
        }
        content = {"fit": stored_fit(one, type(fit).__module__)} if whole else {}
        return FitRecord(
            {
                "format": FORMAT,
                "version": VERSION,
                "title": one.heading,
                "estimates": estimates,
                "natural_params": plain_numbers(one.natural_params),
                "covariance": plain_numbers(one.natural_covariance) if with_errors else None,
                **({"components": components} if (components := components_of(one)) else {}),
                "n_samples": one.n_samples,
                "n_groups": one.n_groups,
                "determined": one.undetermined is None,
                "goodness_of_fit": None
                if goodness is None
                else {"statistic": goodness.statistic, "df": goodness.df, "p_value": goodness.p_value},
                **_covariates_of(one),
                **_robust_of(one),
                "table": [list(row) for row in estimate_rows(one)],
                "facts": [list(pair) for pair in facts_of(one)],
                "made_by": made_by,
                **content,
            }
        )

    @property
    def version(self) -> int:
        """The version of the format that the file had."""
        version: int = self.content["version"]
        return version

    @property
    def fit(self) -> dict[str, Any] | None:
        """What an estimator is made from again; None where the document has no such part."""
        content: dict[str, Any] | None = self.content.get("fit")
        return content

    def reworded(self, reword: Callable[[str], str]) -> FitRecord:
        """The same with the title and every sentence of the facts changed by a function."""
        facts = [[name, reword(text)] for name, text in self.content["facts"]]
        return FitRecord(self.content | {"title": reword(self.content["title"]), "facts": facts})

    def shortened(self) -> FitRecord:
        """The same without the part that an estimator is made from."""
        return FitRecord({name: value for name, value in self.content.items() if name != "fit"})

    @staticmethod
    def load(path: Path) -> FitRecord:
        """From a file; one clear error where it is none of ours."""
        path = check_file(path, "a saved fit")
        try:
            content = read_json(path)
        except OSError as error:
            raise InvalidInputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
        except InvalidInputError as error:
            raise InvalidInputError(f"{path.name} is not a fit saved by tmsm: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidInputError(f"{path.name} is JSON, but not a fit saved by tmsm.")
        version = content.get("version")
        if version not in (NUMBERS_ONLY, VERSION) or type(version) is not int:
            later = type(version) is int and version > VERSION
            raise InvalidInputError(
                f"{path.name} has version {short_repr(version)} of the format, and this tmsm reads {NUMBERS_ONLY} and "
                f"{VERSION}." + later * " It was saved by a later tmsm: read it with that one."
            )
        missing = [field for field in _FIELDS if field not in content]
        if missing:
            raise InvalidInputError(f"{path.name} is damaged: it has no {', '.join(missing)}.")
        wrong = [field for field, is_right in _CHECKS.items() if not is_right(content.get(field), content)]
        if wrong:
            raise InvalidInputError(
                f"{path.name} is damaged: {', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not what tmsm writes."
            )
        try:
            json.dumps(content, allow_nan=False)
        except (ValueError, RecursionError):
            raise InvalidInputError(f"{path.name} is damaged: it holds NaN, an infinity or deep brackets.") from None
        return FitRecord(content)

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_text(path, self.to_json())

    def to_json(self, *, ensure_ascii: bool = False) -> str:
        """The document's text."""
        options: dict[str, Any] = {"ensure_ascii": ensure_ascii, "allow_nan": False}
        text = json.dumps(self.shortened().content, indent=2, **options)
        if self.fit is not None:
            # Thousands of numbers: a line for each member, not for each number.
            lines = (f"    {json.dumps(name)}: {json.dumps(value, **options)}" for name, value in self.fit.items())
            text = text.removesuffix("\n}") + ',\n  "fit": {\n' + ",\n".join(lines) + "\n  }\n}"
        text += "\n"
        # JSON leaves these controls alone, which terminals obey; they can only stand inside strings.
        return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found.group()):04x}", text)

    def to_text(self) -> str:
        """The table and the facts as plain text."""
        table = plain_table(self.content["table"])
        rule = "─" * max(len(line) for line in table.splitlines())
        parts = [self.content["title"], table, rule]
        for title, rows in self.further_tables:
            parts += [title, plain_table(rows), rule]
        return "\n".join([*parts, facts_text(self.content["facts"])])

    @property
    def further_tables(self) -> list[tuple[str, list[list[str]]]]:
        """Tables below that of the estimates, with sentences that explain them."""
        return [(one["title"], one["table"]) for one in self.content.get("further_tables", [])]


def components_of(fit: Fit) -> list[dict[str, Any]]:
    """What a mixture is made of: the share of each component, and where its centre is; empty of other models."""
    shares, with_errors = row_shares(fit), fit.covariance is not None
    if shares is None:
        return []
    errors, found = fit.std_errors if with_errors else None, []
    for centre in centres_of(fit):
        assert centre.field is not None and centre.component is not None, "it is that of a component"
        one: dict[str, Any] = {"component": centre.component, "centre": plain_numbers(centre.point)}
        if fit.region.manifold.has_longitudes:
            one["longitude_latitude"] = plain_numbers(fit.frame.lonlat(centre.point))
        one["centre_std_error"] = None if errors is None else plain_numbers(errors[centre.field.name])
        one["inside"] = bool(fit.region.contains(centre.point[None, :])[0])
        found.append(one)
    for k, share in enumerate(shares):
        name = next((one.name for one in fit.model.fields if _is_share(one, k + 1)), "background_share")
        own = next((one for one in found if one["component"] == k + 1), None)
        if own is None:
            own = {"component": k + 1 if name != "background_share" else "background"}
            found.append(own)
        own["share"] = plain_numbers(fit.params[name])
        own["share_std_error"] = None if errors is None else plain_numbers(errors[name])
        own["share_of_rows"] = plain_numbers(share)
    return sorted(found, key=lambda one: (one["component"] == "background", one["component"]))


def _covariates_of(fit: Fit) -> dict[str, Any]:
    """Coefficients, tests and moves of a fit with covariates, and their tables; empty of others."""
    regression = fit.regression
    if regression is None:
        return {}
    known = regression.covariance is not None
    return {
        "covariates": {
            "names": list(regression.names),
            "means": plain_numbers(regression.standard.center),
            "ranges": plain_numbers(np.column_stack([regression.standard.low, regression.standard.high])),
            "columns": ["constant", *regression.names],
            "coefficients": plain_numbers(regression.coefficients),
            "std_errors": plain_numbers(regression.coefficient_errors) if known else None,
            "tests": [_test(test) for test in fit.covariate_tests] if known else [],
            "centre_moves": [
                {
                    "covariate": move.covariate,
                    "axes": list(move.axes),
                    "for_one_unit": plain_numbers(move.velocity),
                    "std_errors": None if move.std_errors is None else plain_numbers(move.std_errors),
                }
                for move in centre_moves(fit)
            ],
        },
        "further_tables": [
            {"title": title, "table": [list(row) for row in rows]} for title, rows in further_tables(fit)
        ],
    }


def _robust_of(fit: Fit) -> dict[str, Any]:
    """The power of a robust fit, and how many of the kept rows have nearly no weight; empty of others."""
    equations, few = fit.influence.equations, weightless_rows(fit)
    if few is None or not isinstance(equations, Robust):
        return {}
    return {"robust": {"power": float(equations.power), "rows_with_nearly_no_weight": int(few.sum())}}


def _test(test: CovariateTest) -> dict[str, Any]:
    return {
        "covariate": test.covariate,
        "question": test.question,
        "sentence": test.sentence,
        **{
            name: {"statistic": plain_numbers(one.statistic), "df": one.df, "p_value": plain_numbers(one.p_value)}
            for name, one in (("wald", test.wald), ("score", test.score))
        },
    }


def _is_share(field: Field, component: int) -> bool:
    return field.component == component and field.own_title == "share"


def _is_table(value: Any, width: int | None = None) -> bool:
    """A list, not empty, of lists of text of one length."""
    if not isinstance(value, list) or not value or not all(isinstance(row, list) and row for row in value):
        return False
    width = len(value[0]) if width is None else width
    return all(len(row) == width and all(isinstance(cell, str) for cell in row) for row in value)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("title"), str) and _is_table(one.get("table")) for one in value
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**63


def _is_number(value: Any) -> bool:
    """What `plain_numbers` makes of a number."""
    return value is None or (type(value) in (int, float) and abs(value) <= _LARGEST)


def _is_numbers(value: Any, depth: int = 2) -> bool:
    """What `plain_numbers` makes of a number, a vector, a matrix or a pair of them."""
    if isinstance(value, list) and depth >= 0:
        return all(_is_numbers(entry, depth - 1) for entry in value)
    return _is_number(value)


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_number, value))


def _is_square(value: Any, size: int) -> bool:
    return isinstance(value, list) and len(value) == size and all(_is_vector(row) and len(row) == size for row in value)


def _is_estimates(value: Any) -> bool:
    members = {"estimate", "std_error", "interval_95"}
    return isinstance(value, dict) and all(
        isinstance(one, dict) and set(one) == members and all(map(_is_numbers, one.values())) for one in value.values()
    )


def _is_goodness(value: Any) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, dict)
        and set(value) == {"statistic", "df", "p_value"}
        and all(type(number) in (int, float) and abs(number) <= _LARGEST for number in value.values())
    )


# For every field whether a value, beside the others, is one that `FitRecord.of` writes.
_LARGEST = float(np.finfo(np.float64).max)
_CHECKS: dict[str, Callable[[Any, dict[str, Any]], bool]] = {
    "title": lambda value, _: isinstance(value, str),
    "estimates": lambda value, _: _is_estimates(value),
    "natural_params": lambda value, _: _is_vector(value),
    "covariance": lambda value, all_: (
        value is None or (_is_vector(all_["natural_params"]) and _is_square(value, len(all_["natural_params"])))
    ),
    "n_samples": lambda value, _: _is_count(value),
    "n_groups": lambda value, _: value is None or _is_count(value),
    "determined": lambda value, content: type(value) is bool or "determined" not in content,
    "goodness_of_fit": lambda value, _: _is_goodness(value),
    "table": lambda value, _: _is_table(value),
    "facts": lambda value, _: _is_table(value, 2),
    "further_tables": lambda value, content: "further_tables" not in content or _is_tables(value),
    "made_by": lambda value, _: _is_texts(value),
    "fit": lambda value, content: "fit" not in content or (isinstance(value, dict) and set(value) == MEMBERS),
}


def plain_numbers(value: Any) -> Any:
    """Numbers and lists of them; what is not finite becomes None."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return float(array) if np.isfinite(array) else None
    return [plain_numbers(part) for part in array]


def versions() -> dict[str, str]:
    """The versions of what a result was computed with."""
    import platform
    from importlib.metadata import version

    return {name: version(name) for name in ("tmsm", "numpy", "scipy")} | {"python": platform.python_version()}
