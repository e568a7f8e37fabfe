"""What the measured tables say, in sentences whose numbers are those of the results."""

from collections.abc import Callable, Iterator, Sequence
from textwrap import fill
from typing import Any

__all__ = ["span", "summary"]

BORDER, WHOLE, AXES = "Cluster cut by a border", "Cluster on the whole sphere", "Axes on the whole sphere"
NORMALS, MIXTURES, MAPS = "Normal rows above a threshold", "Two normals", "maps"
SCORE, EXACT = "ScoreMatching", "TruncatedMLE"

Results = dict[str, Any]

# What a sentence may name, from the line of a method.
_READ: dict[str, Callable[[Results], float]] = {
    "time": lambda row: row["time"],
    "centre": lambda row: row["errors"]["centre"]["rms"],
    "size": lambda row: row["errors"]["size"]["rms"],
    "divergence": lambda row: row["errors"]["divergence"]["mean"],
    "outside": lambda row: 100.0 * (1.0 - row["errors"]["integral"]["mean"]),
    "deviation": lambda row: row["errors"]["deviation"]["rms"],
}


def span(values: Sequence[float]) -> str:
    """The smallest and the largest value, with two digits."""
    low, high = (f"{float(f'{value:.2g}'):,g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _say(found: Results, where: str, package: str, sentence: str, call: str = "") -> Iterator[str]:
    """A sentence with the spans of what it names in braces, if the package was measured.

    Jobs are those of a table, or those whose group or title begins with the words; calls are those with the words.
    """
    jobs = [job for job in found["jobs"] if job["table"] == where or (job["group"] or job["title"]).startswith(where)]
    rows = [row for job in jobs for row in job["methods"] if row["package"] == package and call in row["call"]]
    rows = [row for row in rows if "note" not in row]
    if rows:
        named = {name: span([read(row) for row in rows]) for name, read in _READ.items() if f"{{{name}}}" in sentence}
        yield sentence.format(**named)


def _border(found: Results) -> Iterator[str]:
    yield "**A cluster that is cut by a border.**"
    ours = "The root mean square error of `ScoreMatching` is {centre}° for the centre and {size} % for κ."
    yield from _say(found, BORDER, "tmsm", ours, SCORE)
    for name in ("SciPy", "PyRecEst"):
        theirs = (
            " has no argument for a border. Its error is {centre}° for the centre and {size} % for κ. It takes {time} "
            "times as long as `ScoreMatching`."
        )
        yield from _say(found, BORDER, name, f"{name}{theirs}")
    theirs = "The mean of geomstats has an error of {centre}° and takes {time} times as long as `ScoreMatching`."
    yield from _say(found, BORDER, "geomstats", theirs)


def _whole(found: Results) -> Iterator[str]:
    yield "**A cluster on the whole sphere.**"
    for name in ("SciPy", "PyRecEst"):
        theirs = " takes {time} times as long as `NaiveMLE`, and finds the centre with an error of {centre}°."
        yield from _say(found, WHOLE, name, f"{name}{theirs}")
    ours = "`NaiveMLE` finds it with one of {centre}°, and also computes standard errors."
    yield from _say(found, WHOLE, "tmsm", ours)
    if found["scipy_wrong_from"] is not None:
        yield (
            f"From {found['scipy_wrong_from']} coordinates on SciPy {found['versions']['SciPy']} returns κ = 10⁻⁸ for "
            "any data: a Bessel function underflows at the place where its search begins."
        )
    plain = (
        "The Fréchet mean of geomstats, which does not estimate κ, stops early with its default tolerance. Its error "
        "is then {centre}°;"
    )
    yield from _say(found, WHOLE, "geomstats", plain, "Hypersphere(…))`")
    accurate = "with a smaller tolerance it is {centre}°, in {time} times the time of `NaiveMLE`."
    yield from _say(found, WHOLE, "geomstats", accurate, "set(")


def _axes(found: Results) -> Iterator[str]:
    yield "**Axes.**"
    ours = "`NaiveMLE` finds the main axis with an error of {centre}°, and the exponents with one of {size} %."
    yield from _say(found, AXES, "tmsm", ours)
    theirs = "The errors of PyRecEst are {centre}° and {size} %, and it takes {time} times as long as `NaiveMLE`."
    yield from _say(found, AXES, "PyRecEst", theirs)


def _normals(found: Results) -> Iterator[str]:
    yield "**Normal rows above a threshold.** The errors of the first standard deviation are these."
    yield from _say(found, NORMALS, "tmsm", "`TruncatedMLE`: {size} %.", EXACT)
    for call, words in (
        ("stats.norm.fit", "`stats.norm.fit`, which ignores the threshold, in one dimension"),
        ("multivariate_normal.fit", "`stats.multivariate_normal.fit`, the same in two dimensions"),
        ("truncnorm.fit", "`stats.truncnorm.fit`, which also estimates the bounds"),
        ("logpdf", "a truncated likelihood that one writes oneself with SciPy, in one dimension"),
    ):
        yield from _say(found, NORMALS, "SciPy", f"{words[0].upper()}{words[1:]}: {{size}} %.", call)
    theirs = "pygmmis, in two dimensions: {size} %, in {time} times the time of `ScoreMatching`."
    yield from _say(found, NORMALS, "pygmmis", theirs)


def _mixtures(found: Results) -> Iterator[str]:
    yield "**Two normals, one cut in half.**"
    for name, words in (
        ("tmsm", "`TruncatedMLE` finds the mean of that component with an error of {centre}."),
        (
            "scikit-learn",
            "scikit-learn has no argument for the cut. Its error is {centre}, and it takes {time} times as long as "
            "`TruncatedMLE`.",
        ),
        (
            "pygmmis",
            "pygmmis takes the cut into account. Its error is {centre}, and it takes {time} times as long as "
            "`TruncatedMLE`.",
        ),
    ):
        yield from _say(found, MIXTURES, name, words)


def _maps(found: Results) -> Iterator[str]:
    yield "**Density maps.**"
    yield from _say(
        found, MAPS, "tmsm", "`DensityMap` has a divergence of {divergence} nats from the truth,", "Density"
    )
    yield from _say(found, MAPS, "tmsm", "`AdaptiveKernel` one of {divergence}.", "Adaptive")
    theirs = (
        "The kernels of scikit-learn have one of {divergence}. They have {outside} % of their mass outside the border, "
        "and take {time} times as long as `DensityMap`."
    )
    yield from _say(found, MAPS, "scikit-learn", theirs)


def _draws(found: Results) -> Iterator[str]:
    yield "**Random numbers.**"
    for name in ("SciPy", "geomstats", "PyRecEst"):
        theirs = " takes {time} times as long as `tmsm` for von Mises–Fisher rows."
        yield from _say(found, "von Mises–Fisher,", name, f"{name}{theirs}")
    theirs = (
        "PyRecEst's Bingham rows come from a Markov chain and take {time} times as long as those of `tmsm`. They "
        "depend on each other: their mean deviates {deviation} times as much as that of independent rows should."
    )
    yield from _say(found, "Bingham,", "PyRecEst", theirs)


def summary(found: Results) -> str:
    """A list for the page, one item for each subject."""
    items = [" ".join(part(found)) for part in (_border, _whole, _axes, _normals, _mixtures, _maps, _draws)]
    return "\n".join(_wrapped(f"- {item}") for item in items)


def _wrapped(item: str) -> str:
    """Lines of the page; a number stays with its sign of per cent."""
    lines = fill(item.replace(" %", "\u00a0%"), 118, subsequent_indent="  ", break_on_hyphens=False)
    return lines.replace("\u00a0", " ")
