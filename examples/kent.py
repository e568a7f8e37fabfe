"""An oval that is cut through its middle: Kent's family with all parameters unknown.

The mean direction, the axes of the oval, the concentration and the ovalness are estimated from the observed half. The
estimates are κ = 19.6 ± 0.9 (the truth is 20) and β = 5.6 ± 0.6 (the truth is 6).
"""

import sys

import tmsm

TRUTH = {"mean_direction": [0.0, -1.0, 0.0], "major_axis": [0.0, 0.0, 1.0], "concentration": 20.0, "ovalness": 6.0}


def main(picture: str | None = None) -> None:
    model, region = tmsm.Kent(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    X = model.sample(3000, region, random_state=0, **TRUTH)
    fit = tmsm.ScoreMatching(model, region).fit(X)
    print(fit.summary())
    if picture:
        fit.plot().figure_.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
