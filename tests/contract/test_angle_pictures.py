"""Pictures of fits on a torus: angles in radians, cut where nothing is to be seen, with the mean and its ellipse."""

import matplotlib as mpl
import numpy as np
import pytest

import tmsm

mpl.use("Agg")

MODEL = tmsm.SineVonMises()


def _fit(box, mean, n=400):
    shape = {"concentration": [12.0, 9.0], "interaction": [[0.0, 3.0], [3.0, 0.0]]}
    X = MODEL.sample(n, box, random_state=0, mean_angles=mean, **shape)
    return X, tmsm.ScoreMatching(MODEL, box).fit(X)


def _texts(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


@pytest.mark.parametrize(
    ("lower", "upper", "mean"),
    [([-0.5, -0.6], [0.6, 0.5], [0.4, 0.2]), ([2.5, 2.0], [-2.5, -2.2], [3.0, -2.5])],
    ids=["about zero", "across ±π"],
)
def test_a_picture_of_angles_shows_the_box_whole(lower, upper, mean):
    box = tmsm.AngleBox(lower, upper)
    X, fit = _fit(box, mean)
    display = fit.plot(marks={"truth": tmsm.angles_to_torus(mean)}, density=False)
    (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    ends = display.view_.forward(tmsm.angles_to_torus([lower, upper]))
    # The box goes from lower upwards to upper in the picture, too, and little else is shown.
    assert (ends[0] < ends[1]).all()
    assert left < ends[0, 0] < ends[1, 0] < right < left + 1.6 * (ends[1, 0] - ends[0, 0])
    assert bottom < ends[0, 1] < ends[1, 1] < top < bottom + 1.6 * (ends[1, 1] - ends[0, 1])
    flat = display.view_.forward(X)
    assert ((flat > [left, bottom]) & (flat < [right, top])).all()
    np.testing.assert_allclose(tmsm.angles_to_torus(np.remainder(flat, 2 * np.pi)), X, atol=1e-12)
    # Ticks are angles in (−π, π] at their own places.
    display.figure_.canvas.draw()
    for axis in (display.ax_.xaxis, display.ax_.yaxis):
        named = [float(text.replace("−", "-")) for text in _texts(axis)]
        assert len(named) >= 3
        assert np.abs(named).max() <= np.pi
        np.testing.assert_allclose(np.exp(1j * np.array(named)), np.exp(1j * axis.get_ticklocs()), atol=1e-6)
    x, _, points = display.view_.grid(7)
    np.testing.assert_allclose(display.view_.forward(points[0])[1:-1, 0], x[1:-1], atol=1e-12)


def test_a_picture_has_the_mean_and_its_ellipse():
    box = tmsm.AngleBox([-0.5, -0.6], [0.6, 0.5])
    _, fit = _fit(box, [0.1, 0.1])
    display = fit.plot()
    labels = [line.get_label() for line in display.ax_.get_lines()]
    assert "ScoreMatching, 95 % region" in labels
    shown = display.ax_.get_lines()[labels.index("ScoreMatching, 95 % region")]
    np.testing.assert_allclose(np.ravel(shown.get_data()), fit.params_.mean_angles, atol=1e-12)
    ring = next(line.get_xydata() for line in display.ax_.get_lines() if len(line.get_xydata()) > 100)
    # How far a 95 % ellipse reaches along an axis is √χ²₂(0.95) = 2.4477 standard errors.
    np.testing.assert_allclose(0.5 * np.ptp(ring, axis=0) / fit.std_errors_.mean_angles, 2.4477, rtol=0.01)


def test_contours_of_the_density_do_not_end_at_the_rim():
    _, fit = _fit(tmsm.AngleBox([-0.5, -0.6], [0.6, 0.5]), [0.4, 0.2])
    ax = fit.plot().ax_
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    contours = [path.vertices for one in ax.collections for path in one.get_paths() if len(path.vertices) > 50]
    assert len(contours) >= 2
    for contour in contours:
        assert ((contour > low) & (contour < high)).all()


def test_a_whole_torus_is_shown_whole():
    torus = tmsm.Everywhere(tmsm.Torus(2))
    X = tmsm.Torus(2).uniform(500, 0)
    fit = tmsm.ScoreMatching(tmsm.models.TrigonometricFamily(1), torus).fit(X)
    display = fit.plot()
    np.testing.assert_allclose(display.ax_.get_xlim(), [-np.pi, np.pi])
    assert _texts(display.ax_.xaxis) == ["−π", "−π/2", "0", "π/2", "π"]
    assert display.ax_.get_xlabel() == "angle 1 (radians)"


def test_distances_to_the_mean_are_among_the_diagnostics():
    _, fit = _fit(tmsm.AngleBox([-0.5, -0.6], [0.6, 0.5]), [0.1, 0.1])
    assert [ax.get_xlabel() for ax in fit.plot_diagnostics().axes_] == [
        "distance to the border",
        "distance to the centre",
    ]
    cap = tmsm.RotationCap(np.eye(3), 1.0)
    X = tmsm.MatrixFisher().sample(500, cap, random_state=0, parameter=np.diag([6.0, 4.0, 2.0]))
    panels = tmsm.ScoreMatching(tmsm.MatrixFisher(), cap).fit(X).plot_diagnostics().axes_
    assert panels[1].get_xlabel() == "distance to the centre (degrees)"
