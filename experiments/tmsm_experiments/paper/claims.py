"""A claim of the paper with what was measured, and the words that verdicts share."""

from dataclasses import dataclass

import numpy as np

HOLDS, IN_PART, FAILS, OPEN = "holds", "holds in part", "does not hold", "not tested here"
# What the words of the claims are taken to mean: ratios of mean errors, and the slope that a falling error has.
IDENTICAL, CLOSE, FALLING = 1.05, 1.25, -0.25
# What is beyond chance, in standard errors; stricter for a bias, because there are many of them.  A doubtful fit: p
# below DOUBT; the page says what the larger level would change.
BEYOND, BIASED, DOUBT, USUAL_LEVEL = 2.0, 3.0, 0.01, 0.05


@dataclass(frozen=True)
class Verdict:
    """A claim in our words, where it is tested, what was measured, and whether it holds."""

    claim: str
    figure: str
    measured: str
    verdict: str


def listed(words, last: str = "and") -> str:
    """Words as a list in a sentence: a, b and c."""
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def from_to(values: np.ndarray, digits: int = 2) -> str:
    return f"{np.min(values):.{digits}f} to {np.max(values):.{digits}f}"
