"""What is said of rotations that are none, and of what is given in another form."""

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import tmsm
from tests.registry import public_names

SPACE, MODEL = tmsm.Rotations(), tmsm.MatrixFisher()
CAP, POLE = tmsm.RotationCap([0.0, 0.0, 0.0, 1.0], 1.0), tmsm.Cap([0.0, 0.0, 1.0], 0.5)
TURNS = Rotation.from_rotvec(0.1 * np.random.default_rng(0).standard_normal((40, 3)))
X = SPACE.from_rotation(TURNS)
ABOUT_X = SPACE.from_rotation_vectors(np.column_stack([np.linspace(-0.4, 0.4, 50), np.zeros((50, 2))]))
FLAT = np.stack([np.eye(3), 2.0 * np.eye(3)])
MIRROR = np.stack([np.eye(3), np.diag([1.0, 1.0, -1.0])])

REFUSED = {
    "mirrored": (lambda: SPACE.from_matrices(MIRROR), "1 of 2 matrices of determinant −1 .first: row 1"),
    "not orthogonal": (lambda: SPACE.from_matrices(FLAT), "1 of 2 matrices that are not orthogonal .worst: row 1"),
    "not matrices": (lambda: SPACE.from_matrices(X), r"shape \(n, 3, 3\).* got \(40, 4\)"),
    "missing": (lambda: SPACE.from_matrices(np.full((3, 3), np.nan)), "1 of 1 rows with NaN"),
    "zero": (lambda: SPACE.from_quaternions(np.zeros((2, 4))), "2 of 2 rows that are zero"),
    "vectors in degrees": (lambda: SPACE.from_rotation_vectors([[0, 0, 90]]), "longest: row 0, 90.* Degrees become"),
    "Euler angles in degrees": (lambda: SPACE.from_euler("zyx", [90, 0, 0]), "degrees=True"),
    "axes of Euler angles": (lambda: SPACE.from_euler("zyq", [0, 0, 0]), "seq 'zyq'"),
    "array for a rotation": (lambda: SPACE.from_rotation(X), "must be a scipy.spatial.transform.Rotation"),
    "off the sphere": (lambda: SPACE.check_points(2.0 * X), "40 of 40 rows that are no unit quaternions"),
    "SciPy as rows": (lambda: tmsm.ScoreMatching(MODEL, CAP).fit(TURNS), "from_rotation"),
    "SciPy as rows of the naive fit": (lambda: tmsm.NaiveMLE(MODEL).fit(TURNS), "from_rotation"),
    "matrices as rows": (lambda: tmsm.ScoreMatching(MODEL, CAP).fit(TURNS.as_matrix()), "from_matrices"),
    "matrices on S3": (lambda: tmsm.Sphere(3).check_points(TURNS.as_matrix()), "from_matrices"),
    "nine columns": (lambda: SPACE.check_points(TURNS.as_matrix().reshape(-1, 9)), "from_matrices"),
    "three columns": (lambda: SPACE.check_points(TURNS.as_rotvec()), "from_rotation_vectors"),
    "degrees of a cap": (lambda: tmsm.RotationCap(X[0], 90), "angle must be between 0 and 3.14159; got 90. Degrees"),
    "centre": (lambda: tmsm.RotationCap([1.0, 0.0, 0.0], 1.0), r"quaternion \(4,\), a rotation matrix \(3, 3\)"),
    "several centres": (lambda: tmsm.RotationCap(TURNS, 1.0), "one rotation; got 40"),
    "mirrored centre": (lambda: tmsm.RotationCap(-np.eye(3), 1.0), "determinant −1"),
    "axis": (lambda: tmsm.AxisWithin([2.0, 0.0, 0.0], POLE), "axis must be a unit vector; its norm is 2"),
    "axis in the plane": (lambda: tmsm.AxisWithin([1.0, 0.0], POLE), r"shape \(3,\); got 2"),
    "region elsewhere": (lambda: tmsm.AxisWithin([1.0, 0.0, 0.0], CAP), r"must lie on Sphere\(2\)"),
    "no region": (lambda: tmsm.AxisWithin([1.0, 0.0, 0.0], "pole"), "region of the sphere S²"),
    "family elsewhere": (lambda: MODEL.sample(5, POLE, parameter=np.eye(3)), r"lives on Rotations\(\)"),
    "one axis": (lambda: tmsm.ScoreMatching(MODEL, CAP).fit(ABOUT_X), "about one axis"),
    "shape of F": (lambda: MODEL.sample(5, parameter=np.eye(4)), r"parameter must have shape \(3, 3\)"),
    "half of the parameters": (lambda: MODEL.sample(5, mean_rotation=np.eye(3)), "concentration must be given"),
    "no parameters": (lambda: MODEL.sample(5), "parameter must be given by name"),
    "concentrations": (lambda: MODEL.sample(5, parameter=np.eye(3), concentration=[1, 2, 3]), "do not agree"),
    "mean": (lambda: MODEL.sample(5, parameter=np.eye(3), mean_rotation=np.diag([1, -1, -1])), "do not agree"),
    "another mode": (lambda: MODEL.sample(5, mean_rotation=np.eye(3), concentration=[1, -2, 3]), "Any two"),
    "mirrored mean": (lambda: MODEL.sample(5, mean_rotation=-np.eye(3), concentration=1.0), "determinant one"),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_objects_are_values(tmp_path):
    axis = tmsm.AxisWithin([0.0, 0.0, 1.0], tmsm.Cap([0.0, 0.0, 1.0], 0.9))
    for one in (SPACE, CAP, axis, ~CAP, ~axis, MODEL):
        assert pickle.loads(pickle.dumps(one)) == one
        assert eval(repr(one), {**public_names(), "Complement": tmsm.regions.Complement}) == one
    fit = tmsm.ScoreMatching(MODEL, CAP & axis).fit(X)
    fit.save(tmp_path / "fit.json")
    again = tmsm.load(tmp_path / "fit.json")
    np.testing.assert_array_equal(again.natural_params_, fit.natural_params_)
    assert again.region == CAP & axis


def test_float32_rows_are_taken():
    fits = [tmsm.ScoreMatching(MODEL, CAP).fit(rows) for rows in (X, X.astype(np.float32))]
    np.testing.assert_allclose(fits[0].natural_params_, fits[1].natural_params_, rtol=1e-3)
