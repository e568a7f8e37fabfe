"""Functions that users write: what is said of those that cannot be used."""

import pickle
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tmsm
from scenarios import ellipsoid

SPHERE = tmsm.Sphere(2)


def rows_of(n=20):
    return SPHERE.uniform(n, 0)


def jumps(x):
    return jnp.where(x[2] > 0.0, 1.0, -1.0)


def root(x):
    return jnp.sqrt(x[0])


def table(x):
    return jnp.outer(x, x)


def plain(x):
    return np.sin(x[0])


def branches(x):
    return x[0] if x[1] > 0.0 else -x[0]


def listed(x):
    return [x[0], x[1]]


def called_back(x):
    shape = jax.ShapeDtypeStruct((), np.float64)
    return jax.pure_callback(lambda y: y, shape, x[0], vmap_method="sequential")


def pair(x):
    return x[:2]


def cone(x):
    return x[0] ** 2 + x[1] ** 2 - x[2] ** 2


BAD = [
    (table, r"table must return one number, or a vector of shape \(p,\), for one point of shape \(3,\); .*\(3, 3\)"),
    (plain, r"plain cannot be traced by JAX .* jax.numpy"),
    (branches, r"branches cannot be traced by JAX .* jnp.where"),
    (listed, r"listed must return .* it returns a list. Join its entries with jnp.stack"),
    (lambda x: x.size, r"must return .* it returns a int|must return real numbers"),
    (lambda x: x[0] > 0, r"must return real numbers that can be differentiated; it returns bool"),
    (lambda x: x.nothing, r"fails at a point of 3 coordinates \(AttributeError"),
    (lambda x, y: x[0], r"fails at a point of 3 coordinates \(TypeError"),
]


@pytest.mark.parametrize(("function", "message"), BAD)
def test_functions_that_cannot_be_used(function, message):
    for make in (
        lambda: tmsm.LevelSet(function, 3),
        lambda: tmsm.Implicit(function, SPHERE),
        lambda: tmsm.ExponentialFamily(function, SPHERE),
    ):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize("make", [tmsm.Implicit, tmsm.ExponentialFamily, lambda f, _: tmsm.LevelSet(f, 3)])
def test_what_is_no_function(make):
    with pytest.raises(TypeError, match="must be a function of one point that JAX can trace; got float"):
        make(3.5, SPHERE)


def test_not_finite_somewhere_names_the_function_and_the_row():
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [-1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match=r"root is NaN or infinite at 1 of 3 rows \(first: row 2, the point \[-1.0"):
        tmsm.Implicit(root, SPHERE).contains(rows)
    with pytest.raises(ValueError, match=r"first derivative of root is NaN or infinite at 1 of 2 rows \(first: row 1"):
        tmsm.Implicit(root, SPHERE).contains(rows[:2])
    with pytest.raises(ValueError, match=r"root is NaN or infinite at \d+ of \d+ rows"):
        tmsm.ScoreMatching(tmsm.ExponentialFamily(root, SPHERE), tmsm.Everywhere(SPHERE)).fit(rows_of())
    with pytest.raises(ValueError, match=r"h_2 is NaN or infinite"):
        tmsm.Implicit([lambda x: x[1] + 2.0, lambda x: jnp.log(x[0])], SPHERE).contains(rows)


def test_functions_without_a_derivative():
    with pytest.raises(
        ValueError, match=r"The derivative of jumps along Sphere.* is zero or not finite at each of 512"
    ):
        tmsm.Implicit(jumps, SPHERE).contains(rows_of())
    with pytest.raises(ValueError, match="JAX cannot compute the first derivative of called_back"):
        tmsm.Implicit(called_back, SPHERE).contains(rows_of())


def test_regions_of_functions():
    with pytest.raises(ValueError, match=r"pair must return one number .* Give several functions as a list"):
        tmsm.Implicit(pair, SPHERE)
    with pytest.raises(ValueError, match="between 1 and 12 functions; got 0"):
        tmsm.Implicit([], SPHERE)
    with pytest.raises(TypeError, match=r"needs a manifold, such as Sphere\(2\); got int"):
        tmsm.Implicit(cone, 2)
    region = tmsm.Implicit(lambda x: x[2] - 0.1, SPHERE)
    with pytest.raises(ValueError, match="does not know the distance to its border, so it has no metric 'chordal'"):
        region.border_distance(rows_of(), "chordal")
    with pytest.raises(ValueError, match="does not know the distance to its border"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, "chordal").fit(rows_of()[rows_of()[:, 2] > 0.1])
    with pytest.raises(ValueError, match="outside the region"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, "geodesic").fit(rows_of())


def test_how_far_a_row_lies_outside_is_a_length():
    region = tmsm.Implicit(lambda x: 1000.0 * x[2], SPHERE)
    row = np.array([[np.cos(0.3), 0.0, -np.sin(0.3)]])
    north = tmsm.VonMisesFisher().sample(50, region, random_state=0, mean_direction=[0, 0, 1.0], concentration=5.0)
    with pytest.raises(ValueError, match=r"worst: row 50, 0\.3 beyond the border"):
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), region).fit(np.vstack([north, row]))


def test_level_sets_say_what_is_wrong_with_rows():
    surface = ellipsoid.surface()
    X = ellipsoid.uniform(30, np.random.default_rng(0))
    X[7] *= 1.1
    X[9] *= 1.02
    with pytest.raises(
        ValueError, match=r"X has 2 of 30 rows off the level set of ellipsoid \(worst: row 7, about 0\."
    ):
        surface.check_points(X)
    with pytest.raises(ValueError, match=r"rows off the level set of ellipsoid"):
        tmsm.ScoreMatching(ellipsoid.model(ellipsoid.linear), tmsm.Everywhere(surface)).fit(X)
    with pytest.raises(ValueError, match=r"level set of cone is singular at 1 of 2 rows \(first: row 1, the point \[0"):
        tmsm.LevelSet(cone, 3).project_tangent(np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), np.ones((2, 3)))
    model = tmsm.ExponentialFamily(ellipsoid.linear, tmsm.LevelSet(cone, 3))
    with pytest.raises(ValueError, match="level set of cone is singular at 1 of 2 rows"):
        tmsm.ScoreMatching(model, tmsm.Everywhere(tmsm.LevelSet(cone, 3))).fit([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="it may be empty, or far from the origin"):
        tmsm.LevelSet(lambda x: x @ x + 1.0, 3).scattered(5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="fewer entries than a point has coordinates, 3"):
        tmsm.LevelSet(ellipsoid.linear, 3)
    for call in (surface.geodesic_distance, surface.exponential, surface.logarithm):
        with pytest.raises(ValueError, match=r"LevelSet\(f=<function ellipsoid>, ambient_dim=3\)"):
            call(X, X)
    with pytest.raises(ValueError, match="no uniform distribution on LevelSet"):
        surface.uniform(3)


def test_families_of_functions(tmp_path):
    model = tmsm.ExponentialFamily(ellipsoid.linear, SPHERE)
    with pytest.raises(ValueError, match="one entry for each of the 3 statistics of linear; got shape"):
        model.logpdf(rows_of(), coefficients=[1.0, 2.0])
    with pytest.raises(ValueError, match="coefficients must be finite"):
        model.logpdf(rows_of(), coefficients=[1.0, 2.0, np.nan])
    with pytest.raises(ValueError, match="lives on Sphere"):
        tmsm.ScoreMatching(model, tmsm.Cap([0.0, 1.0], 1.0)).fit([[0.0, 1.0]])
    with pytest.raises(ValueError, match="no sampler"):
        model.sample(3, coefficients=[1.0, 0.0, 0.0])
    plane = tmsm.ExponentialFamily(ellipsoid.linear, tmsm.Euclidean(2))
    with pytest.raises(ValueError, match="no normalising constant on Euclidean"):
        plane.logpdf(np.zeros((1, 2)), coefficients=[1.0, 2.0])
    with pytest.raises(ValueError, match="bounded regions only"):
        plane.logpdf(np.ones((1, 2)), tmsm.HalfSpace([1.0, 0.0], 0.0), coefficients=[1.0, 2.0])
    with pytest.raises(ValueError, match="cannot be kept in a file: a file holds no code"):
        tmsm.ScoreMatching(model, tmsm.Everywhere(SPHERE)).fit(rows_of()).save(tmp_path / "fit.json")


def test_a_function_of_rotations_does_not_depend_on_the_sign_of_a_quaternion():
    space = tmsm.Rotations()
    for manifold in (space, tmsm.Euclidean(1) * space):
        with pytest.raises(ValueError, match=r"linear is no function on .* are the same point"):
            tmsm.ExponentialFamily(ellipsoid.linear, manifold)
        with pytest.raises(ValueError, match=r"h_2 is no function on .* are the same point"):
            tmsm.Implicit([cone, lambda x: x[-1]], manifold)
    rotation = space.uniform(200, 0)
    model, region = tmsm.ExponentialFamily(lambda x: x[:3] ** 2, space), tmsm.Implicit(cone, space)
    rows = rotation[region.contains(rotation)]
    fits = [tmsm.ScoreMatching(model, region).fit(sign * rows).natural_params_ for sign in (1.0, -1.0)]
    np.testing.assert_allclose(*fits, rtol=1e-12)


def test_without_jax_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(ImportError, match=r"needs jax: pip install 'tmsm\[jax\]'"):
        tmsm.LevelSet(lambda x: x[0], 2)


@pytest.mark.parametrize(
    "made",
    [
        lambda: ellipsoid.surface(),
        lambda: ellipsoid.region(ellipsoid.wavy),
        lambda: tmsm.Implicit([ellipsoid.flat, ellipsoid.wavy], SPHERE),
        lambda: ellipsoid.model(ellipsoid.quadratic),
    ],
)
def test_they_are_values(made):
    one = made()
    other = pickle.loads(pickle.dumps(one))
    assert one == other
    assert hash(one) == hash(other)
    assert "0x" not in repr(one)
    assert "jax" not in pickle.dumps(one).decode("latin1")
    assert one == type(one).from_arguments(**one.to_arguments())


def test_repr_names_the_functions():
    assert repr(ellipsoid.region(ellipsoid.wavy)) == (
        "Implicit(h=<function wavy>, manifold=LevelSet(f=<function ellipsoid>, ambient_dim=3))"
    )
    assert repr(tmsm.Implicit([cone, cone], SPHERE)) == (
        "Implicit(h=[<function cone>, <function cone>], manifold=Sphere(dim=2))"
    )
    assert repr(ellipsoid.model(ellipsoid.linear)).startswith(
        "ExponentialFamily(t=<function linear>, manifold=LevelSet("
    )


def test_one_row_and_no_row():
    region = ellipsoid.region(ellipsoid.flat)
    X = ellipsoid.uniform(1, np.random.default_rng(0))
    assert region.contains(X).shape == (1,)
    assert region.contains(X[:0]).shape == (0,)
    assert region.constraint_frame(X).laplacians.shape == (1, 1)


def test_rows_of_single_precision_are_put_onto_the_level_set():
    X = ellipsoid.sample(500, ellipsoid.linear, ellipsoid.flat, 1)
    fits = [
        tmsm.ScoreMatching(ellipsoid.model(ellipsoid.linear), ellipsoid.region(ellipsoid.flat), "geodesic").fit(rows)
        for rows in (X, X.astype(np.float32))
    ]
    np.testing.assert_allclose(fits[0].natural_params_, fits[1].natural_params_, rtol=1e-5)
    moved = X.astype(np.float32).astype(np.float64)
    assert ellipsoid.surface().settle(moved) == (True, True)
    assert np.abs(((moved / ellipsoid.HALF_AXES) ** 2).sum(1) - 1.0).max() < 1e-15 * 4
    assert ellipsoid.surface().settle(moved) == (True, False)


def beyond(x):
    return x[3] - 0.2


def test_coordinates_that_points_do_not_have_are_refused():
    """JAX would take the last one in silence."""
    for make in (lambda: tmsm.Implicit(beyond, tmsm.Sphere(2)), lambda: tmsm.LevelSet(beyond, 3)):
        with pytest.raises(ValueError, match="beyond reads a coordinate that points do not have: they have 3"):
            make()


def constant_on_the_sphere(x):
    return jnp.stack([x[0], x @ x])


def test_a_statistic_that_is_constant_on_the_manifold_is_refused():
    cap = tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    X = tmsm.VonMisesFisher().sample(200, cap, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=2.0)
    family = tmsm.ExponentialFamily(constant_on_the_sphere, tmsm.Sphere(2))
    with pytest.raises(ValueError, match=r"Statistic 1 of constant_on_the_sphere is constant on Sphere\(dim=2\)"):
        tmsm.ScoreMatching(family, cap).fit(X)


def northern(x):
    return x[2] - 0.2


def test_fits_with_functions_that_can_be_imported_are_pickled():
    model, region = tmsm.VonMisesFisher(), tmsm.Implicit(northern, tmsm.Sphere(2))
    X = model.sample(400, region, random_state=0, mean_direction=[1.0, 0.0, 0.0], concentration=3.0)
    fit = tmsm.ScoreMatching(model, region).fit(X)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.natural_params_, fit.natural_params_)
    assert again.goodness_of_fit_ == fit.goodness_of_fit_


def test_functions_are_tried_out_in_silence():
    """Warnings that tests make errors would be swallowed there."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        region = tmsm.Implicit(lambda x: x[2] - 0.1 * x[0] - 0.2, tmsm.Sphere(2))
        region.border_distance(tmsm.Sphere(2).uniform(9, 0))
    assert [str(one.message) for one in said] == []
