"""Goodness of fit detects a wrong model.

The points come from an oval density, and a round one is fitted. The estimate alone looks plausible. The test
rejects the model, and the histograms show where it differs from the data.
"""

import sys

import tmsm

REGION = tmsm.Hemisphere([-1.0, 0.0, 0.0])
TRUTH = {"mean_direction": [0.0, -1.0, 0.0], "major_axis": [0.0, 0.0, 1.0], "concentration": 10.0, "ovalness": 4.0}


def main(picture: str | None = None) -> None:
    X = tmsm.Kent().sample(2000, REGION, random_state=0, **TRUTH)
    circle = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    oval = tmsm.ScoreMatching(tmsm.Kent(), REGION).fit(X)
    print(circle.summary())
    print(tmsm.compare([circle, oval]))
    print(tmsm.stein_test(circle, X, random_state=0))
    if picture:
        circle.plot_diagnostics().figure_.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
