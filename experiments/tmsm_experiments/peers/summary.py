"""What the measured tables say, in sentences whose numbers are those of the results."""

from collections.abc import Iterator
from textwrap import fill

__all__ = ["sentences", "summary"]

BORDER, WHOLE, AXES = "Cluster cut by a border", "Cluster on the whole sphere", "Axes on the whole sphere"
NORMALS, MIXTURES = "Normal rows above a threshold", "Two normals"
SCORE, EXACT = "ScoreMatching", "TruncatedMLE"


class Picked:
    """Rows of methods, of some jobs and of some packages."""

    def __init__(self, found, where, package, call=""):
        jobs = [job for job in found["jobs"] if (job["group"] or job["title"]).startswith(where)]
        rows = [row for job in jobs for row in job["methods"]]
        self.rows = [row for row in rows if row["package"] == package and call in row["call"] and "note" not in row]

    def __bool__(self):
        return bool(self.rows)

    def errors(self, name, kind="rms"):
        """One kind of one error of each row that has it."""
        return [abs(row["errors"][name][kind]) for row in self.rows if name in row["errors"]]

    def times(self):
        """Times over those of tmsm."""
        return [row["time"] for row in self.rows]


def span(values, digits=2):
    """The smallest and the largest value."""
    low, high = (_number(value, digits) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _number(value, digits):
    return f"{float(f'{value:.{digits}g}'):,g}"


def _border(found) -> Iterator[str]:
    score = Picked(found, BORDER, "tmsm", SCORE)
    yield (
        f"**A cluster that is cut by a border.** `ScoreMatching` finds the centre to {span(score.errors('centre'))}° "
        f"and κ to {span(score.errors('size'))} % (root mean square errors)."
    )
    for name in ("SciPy", "PyRecEst", "geomstats"):
        other = Picked(found, BORDER, name)
        if other:
            kappa = f" and κ by {span(other.errors('size'))} %" if other.errors("size") else ""
            yield (
                f"{name}, which cannot be told about the border, misses the centre by "
                f"{span(other.errors('centre'))}°{kappa}. It takes {span(other.times())} times as long."
            )


def _whole(found) -> Iterator[str]:
    yield "**A cluster on the whole sphere.** Every estimate of the mean direction is about equally accurate,"
    yield "with one exception below."
    for name in ("SciPy", "PyRecEst"):
        other = Picked(found, WHOLE, name)
        if other:
            yield f"{name} takes {span(other.times())} times as long as `NaiveMLE`."
    yield "`NaiveMLE` also computes standard errors, the others do not."
    first = found["scipy_wrong_from"]
    if first is not None:
        yield (
            f"From {first} coordinates on SciPy {found['versions']['SciPy']} returns κ = 10⁻⁸ for any data: a Bessel "
            "function underflows at the place where its search begins."
        )
    accurate, plain = (Picked(found, WHOLE, "geomstats", call) for call in ("set(", "Hypersphere(…))`"))
    if accurate and plain:
        yield (
            f"The Fréchet mean of geomstats stops early with its default tolerance, and then misses the centre by "
            f"{span(plain.errors('centre'))}°; with a smaller one by {span(accurate.errors('centre'))}°, in "
            f"{span(accurate.times())} times the time of `NaiveMLE`. It does not estimate κ."
        )


def _axes(found) -> Iterator[str]:
    other = Picked(found, AXES, "PyRecEst")
    if other:
        yield (
            f"**Axes.** PyRecEst's Bingham density is fitted as accurately as that of `NaiveMLE`, in "
            f"{span(other.times())} times its time."
        )


def _flat(found) -> Iterator[str]:
    exact = Picked(found, NORMALS, "tmsm", EXACT)
    yield (
        f"**Normal rows above a threshold.** `TruncatedMLE` finds the first standard deviation to "
        f"{span(exact.errors('size'))} %."
    )
    for call, words in (
        ("stats.norm.fit", "A fit in one dimension that ignores the threshold, `stats.norm.fit`,"),
        ("multivariate_normal.fit", "In two dimensions `stats.multivariate_normal.fit`"),
        ("truncnorm.fit", "`stats.truncnorm.fit`, which also estimates the bounds,"),
        ("logpdf", "A truncated likelihood that one writes oneself with SciPy, in one dimension,"),
    ):
        other = Picked(found, NORMALS, "SciPy", call)
        if other:
            yield f"{words} has an error of {span(other.errors('size'))} %."
    other = Picked(found, NORMALS, "pygmmis")
    if other:
        yield (
            f"pygmmis has an error of {span(other.errors('size'))} % in two dimensions, and takes "
            f"{span(other.times())} times as long as `ScoreMatching`."
        )


def _mixtures(found) -> Iterator[str]:
    exact = Picked(found, MIXTURES, "tmsm")
    yield (
        "**Two normals, one cut in half.** The mean of that component has an error of "
        f"{span(exact.errors('centre'))} with `TruncatedMLE`."
    )
    other = Picked(found, MIXTURES, "scikit-learn")
    if other:
        yield (
            f"scikit-learn, which cannot be told about the cut, has one of {span(other.errors('centre'))}, in "
            f"{span(other.times())} times the time."
        )
    other = Picked(found, MIXTURES, "pygmmis")
    if other:
        yield (
            f"pygmmis takes the cut into account. Its error is {span(other.errors('centre'))}, and it takes "
            f"{span(other.times())} times as long."
        )


def _maps(found) -> Iterator[str]:
    jobs = {**found, "jobs": [job for job in found["jobs"] if job["table"] == "maps"]}
    smooth, kernels = (Picked(jobs, "", "tmsm", call) for call in ("DensityMap", "AdaptiveKernel"))
    yield (
        f"**Density maps.** The divergence from the truth is {span(smooth.errors('divergence', 'mean'))} nats for "
        f"`DensityMap` and {span(kernels.errors('divergence', 'mean'))} for `AdaptiveKernel`."
    )
    other = Picked(jobs, "", "scikit-learn")
    if other:
        yield (
            f"It is {span(other.errors('divergence', 'mean'))} nats for the kernels of scikit-learn. They leave "
            f"{span([100.0 * (1.0 - value) for value in other.errors('integral', 'mean')])} % of their mass outside "
            f"the border, and take {span(other.times())} times as long as `DensityMap`."
        )


def _draws(found) -> Iterator[str]:
    yield "**Random numbers.**"
    for name in ("SciPy", "geomstats", "PyRecEst"):
        other = Picked(found, "von Mises–Fisher,", name)
        if other:
            yield f"{name} takes {span(other.times())} times as long for von Mises–Fisher rows."
    other = Picked(found, "Bingham,", "PyRecEst")
    if other:
        yield (
            f"PyRecEst's Bingham rows come from a Markov chain and take {span(other.times())} times as long. They "
            f"depend on each other: the mean deviates {span(other.errors('deviation'))} times as much as that of "
            "independent rows."
        )


def sentences(found) -> list[str]:
    """One paragraph for each subject."""
    return [" ".join(part(found)) for part in (_border, _whole, _axes, _flat, _mixtures, _maps, _draws)]


def summary(found) -> str:
    """A list for the page."""
    kept = [text for text in sentences(found) if text]
    return "\n".join(fill(f"- {text}", 118, subsequent_indent="  ", break_on_hyphens=False) for text in kept)
