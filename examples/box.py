"""Flat data in a box: a normal density whose mean lies outside.

The code is the same as on the sphere, because a box is a region of flat space. The default combines weights that
treat each coordinate separately.
"""

import sys

import tmsm

TRUTH = {"mean": [0.5, 1.2], "covariance": [[1.0, 0.3], [0.3, 0.6]]}


def main(picture: str | None = None) -> None:
    model, box = tmsm.MultivariateNormal(), tmsm.Box([-1.0, -1.0], [2.0, 1.0])
    X = model.sample(5000, box, random_state=0, **TRUTH)
    fit = tmsm.ScoreMatching(model, box).fit(X)
    print(fit.summary())
    if picture:
        fits = {"score matching": fit, "ignoring the box": tmsm.NaiveMLE(model).fit(X)}
        tmsm.FitDisplay.from_estimators(fits).figure_.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
