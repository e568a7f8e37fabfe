# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Bring your own manifold
#
# Your points may lie on a surface that no package knows: an embryo, a bone, a mirror. In this tutorial the surface, the
# region and the family of densities are given as formulas. You will learn
#
# - how to write a surface as the zero set of a function, and a region as the place where another function is positive,
# - how to write a family of densities by its statistics, or by its logarithm,
# - how to check what you wrote, before you trust it,
# - how to test the whole with simulated data,
# - which other ways there are: coordinates with a metric, and a class of your own.
#
# **You need** the extras `jax` and `plot` (in a checkout: `pip install '.[jax,plot]'`), and about fifteen minutes. The
# notebook itself runs in less than a minute. JAX computes all derivatives, so you write no derivative by hand.
#
# ## The problem
#
# Cells lie on the surface of an embryo that has the shape of an egg. A microscope looks from above and sees only the
# upper part; below a slanted plane the picture is too dark. How does the density of the cells change along the body?
#
# ## The surface
#
# A surface is the set of points at which a function is zero. Write the function for one point, an array of three
# numbers, with `jax.numpy`. This egg lies along the first axis, and one of its ends is thicker than the other.

# %%
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tmsm

LENGTH, TAPER = 1.5, 0.25


def egg(x):
    return (
        (x[0] / LENGTH) ** 2 + (x[1] ** 2 + x[2] ** 2) * (1.0 + TAPER * x[0]) - 1.0
    )


surface = tmsm.LevelSet(egg, ambient_dim=3)
print(surface, "has the dimension", surface.dim)

# %% [markdown]
# The derivative of the function must not be zero on the surface. An egg has no such point. The tip of a cone would be
# one.
#
# Real measurements lie next to the surface, not exactly on it. `nearest` moves them onto it. Without this, such rows
# are an error with a message that says how far off they are.

# %%
rough = np.array([[0.3, 0.5, 0.85], [-0.9, 0.1, 0.9]])
print(surface.contains(rough), surface.contains(surface.nearest(rough)))
try:
    tmsm.ScoreMatching(
        tmsm.ExponentialFamily(lambda x: x, surface), tmsm.Everywhere(surface)
    ).fit(rough)
except ValueError as error:
    print(error)

# %% [markdown]
# ## The region
#
# The region is where a function is positive. Its derivative along the surface must not be zero on the border.


# %%
def above(x):
    return x[2] - 0.2 - 0.1 * x[0]


visible = tmsm.Implicit(above, surface)

# %% [markdown]
# ## The family
#
# The simplest densities on any surface are p(x) ∝ exp(θ · t(x)) with statistics t that you choose. `ExponentialFamily`
# takes the function t. Here t(x) = x: the coefficients say how fast the logarithm of the density grows along each of
# the three axes. Nobody has to know the normalising constant, the integral of exp(θ · t) over the visible part of the
# egg. Score matching does not need it.


# %%
def coordinates(x):
    return x


family = tmsm.ExponentialFamily(coordinates, surface)

# %% [markdown]
# ## Check what you wrote
#
# `check_model` compares all derivatives of the family on the surface with finite differences. It also finds out if the
# family and the surface do not belong together. The numbers are relative differences.

# %% tags=["varies"]
print(tmsm.check_model(family, surface))

# %% [markdown]
# ## Simulated cells
#
# We need data whose truth is known. Points on the egg with the density exp(θ · x) are drawn by rejection: draw a
# position along the axis and an angle around it, both uniformly; then keep each point with a probability that is
# proportional to the density times the area of the surface for a unit of position and angle. `tmsm` itself cannot draw
# on a surface that it knows only by a formula.

# %%
TRUTH = np.array([1.5, 1.0, -1.0])


def linear(X):
    return X @ TRUTH


def draw_cells(n, log_density, rng):
    """Cells in the visible part, as an array of shape (n, 3)."""
    kept = []
    while sum(map(len, kept)) < n:
        s = rng.uniform(-LENGTH, LENGTH, 10_000)
        angle = rng.uniform(-np.pi, np.pi, 10_000)
        # The square of the radius at s, and its derivative.
        square = (1.0 - (s / LENGTH) ** 2) / (1.0 + TAPER * s)
        slope = -(2.0 * s / LENGTH**2 + TAPER * square) / (1.0 + TAPER * s)
        X = np.column_stack(
            [s, np.sqrt(square) * np.cos(angle), np.sqrt(square) * np.sin(angle)]
        )
        weight = np.sqrt(square + 0.25 * slope**2) * np.exp(log_density(X))
        weight[~visible.contains(X)] = 0.0
        kept.append(X[rng.uniform(0.0, 20.0, len(X)) < weight])
        assert weight.max() < 20.0  # otherwise the draws would be wrong
    return np.concatenate(kept)[:n]


cells = draw_cells(1500, linear, np.random.default_rng(0))
print(len(cells), "cells, all visible:", visible.contains(cells).all())

# %% alt="The egg from the side and from above, with the visible cells and the border"
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
s = np.linspace(-LENGTH, LENGTH, 400)
radius = np.sqrt((1.0 - (s / LENGTH) ** 2) / (1.0 + TAPER * s))
for ax, column, name in zip(axes, (2, 1), ("z", "y"), strict=True):
    ax.plot(np.r_[s, s[::-1]], np.r_[radius, -radius[::-1]], color="0.6")
    ax.scatter(cells[:, 0], cells[:, column], s=3, color="#009E73", alpha=0.5)
    ax.set(xlabel="x", ylabel=name, aspect="equal")
axes[0].plot(s, 0.2 + 0.1 * s, color="black", ls="--", label="border")
axes[0].set_title("from the side")
axes[1].set_title("from above")
legend = axes[0].legend(loc="lower right", frameon=False)

# %% [markdown]
# ## The fit

# %%
fit = tmsm.ScoreMatching(family, visible).fit(cells)
print(fit.summary())

# %% [markdown]
# All three coefficients lie within about one and a half standard errors of the truth, 1.5, 1 and −1. The goodness of
# fit finds no fault.
#
# What does the border do to the answer? `Everywhere` is a region without a border. A fit with it takes the dark half of
# the egg for a place without cells.

# %%
ignoring = tmsm.ScoreMatching(family, tmsm.Everywhere(surface)).fit(cells)
for name, one in (("with the border", fit), ("ignoring the border", ignoring)):
    values, errors = one.params_.coefficients, one.std_errors_.coefficients
    print(
        f"{name:<20}",
        *(f"{a:6.2f} ± {b:.2f}" for a, b in zip(values, errors, strict=True)),
    )
print(f"{'truth':<20}", *(f"{a:6.2f}       " for a in TRUTH))

# %% [markdown]
# The third coefficient is worst: its sign is wrong. The cells become fewer upwards, and the fit that ignores the border
# says the opposite, by many standard errors.
#
# ## Test the whole by simulation
#
# One fit that agrees with the truth proves little. If the surface, the region, the family and the errors are right,
# then 95 of 100 intervals contain the truth. We repeat draw and fit 100 times. The functions are compiled once, so that
# each fit takes some milliseconds.

# %%
rng = np.random.default_rng(1)
repeats = [
    tmsm.ScoreMatching(family, visible).fit(draw_cells(1500, linear, rng))
    for _ in range(100)
]
estimates = np.array([one.params_.coefficients for one in repeats])
errors = np.array([one.std_errors_.coefficients for one in repeats])
away = (estimates - TRUTH) / errors
print("mean of (estimate − truth) / error:", away.mean(axis=0).round(2))
print("its standard deviation:            ", away.std(axis=0).round(2))
covered = (np.abs(away) < 1.96).sum(axis=0)
print("intervals that contain the truth:  ", covered, "of 100")

# %% [markdown]
# The mean is near zero (its own error is 0.1), the standard deviation is near one, and about 95 of 100 intervals
# contain the truth. A mistake in the derivatives of the family, or errors that are too small, would show here. A wrong
# formula of the region would not, because draws and fits use the same one. The picture has all 100 intervals of the
# third coefficient. Those that miss the truth are orange.

# %% alt="100 intervals of the third coefficient as vertical lines; nearly all cross the true value"
figure, ax = plt.subplots(figsize=(7.0, 3.0), layout="constrained")
colours = np.where(np.abs(away[:, 2]) < 1.96, "#0072B2", "#D55E00")
low, high = (estimates + sign * 1.96 * errors for sign in (-1.0, 1.0))
ax.vlines(np.arange(100), low[:, 2], high[:, 2], colors=colours)
ax.axhline(TRUTH[2], color="black", lw=1, ls="--")
text = ax.set(xlabel="repetition", ylabel="third coefficient")

# %% [markdown]
# ## A family with other parameters
#
# If the log density is not linear in its parameters, give its logarithm to `LogDensity`, with a first guess of the
# parameters. Suppose that other cells gather in a band across the egg. The position of the band along the axis and its
# width are parameters, and so is a slope in z. A width must be positive, while every parameter may become any number;
# so the parameter is the logarithm of the width.


# %%
def band(params, x):
    return (
        -0.5 * ((x[0] - params["position"]) * jnp.exp(-params["log_width"])) ** 2
        + params["slope"] * x[2]
    )


def true_band(X):
    return -0.5 * ((X[:, 0] - 0.4) / 0.3) ** 2 + 0.5 * X[:, 2]


banded = draw_cells(1500, true_band, np.random.default_rng(2))
guess = {"position": 0.0, "log_width": 0.0, "slope": 0.0}
other = tmsm.ScoreMatching(tmsm.LogDensity(band, guess, surface), visible).fit(
    banded
)
true_values = {"position": 0.4, "log_width": np.log(0.3), "slope": 0.5}
for name, truth in true_values.items():
    value, error = other.params_[name], other.std_errors_[name]
    print(f"{name:<10} {value:6.3f} ± {error:.3f}, truth {truth:.3f}")

# %% [markdown]
# Is the band needed? The first family can be fitted to these cells, too. The goodness of fit and `compare` tell the two
# apart.

# %%
wrong = tmsm.ScoreMatching(family, visible).fit(banded)
print(tmsm.compare({"exp(θ · x)": wrong, "a band": other}))

# %% [markdown]
# ## The same with coordinates
#
# You may have coordinates instead of a function that is zero. `Chart` takes a metric: a function of the coordinates
# that returns the matrix of lengths. The visible part is a graph: its height is a function of x and y. Coordinates (x,
# y) on a graph have the metric I + ∇h ∇hᵀ.

# %%
import jax

from tmsm.manifolds import Chart


def height(s):
    return jnp.sqrt((1.0 - (s[0] / LENGTH) ** 2) / (1.0 + TAPER * s[0]) - s[1] ** 2)


def metric(s):
    slope = jax.grad(height)(s)
    return jnp.eye(2) + jnp.outer(slope, slope)


chart = Chart(metric, dim=2)
in_chart = tmsm.Implicit(lambda s: height(s) - 0.2 - 0.1 * s[0], chart)
same_family = tmsm.ExponentialFamily(
    lambda s: jnp.array([s[0], s[1], height(s)]), chart
)
same = tmsm.ScoreMatching(same_family, in_chart).fit(cells[:, :2])
print(
    "the same coefficients:",
    np.allclose(same.natural_params_, fit.natural_params_, rtol=1e-6),
)

# %% [markdown]
# Both descriptions give the same estimate, as they must: lengths, areas and slopes on a surface do not depend on the
# coordinates. If you have two descriptions of your surface, this is a strong test of both.
#
# ## A class of your own
#
# A level set has no geodesic distances, no uniform draws, no integrals and no pictures. If you need them, or if you do
# not want JAX, write a class that inherits from `tmsm.manifolds.Manifold`. The file CONTRIBUTING.md in the repository
# has a complete one, a cylinder, together with a region, a weight and a family. Each further method of the class opens
# more of the package: distances, exact likelihood, pictures.
#
# ## What was learned
#
# - A surface, a region and a family are three functions.
# - `check_model` compares derivatives. A simulation tests everything together; do it before you use real data.
# - Ignoring the border can turn the sign of an answer.
#
# ## Where to go next
#
# - [Models](../docs/models.md): densities and manifolds of your own, and what each of them lacks.
# - [The mathematics](../docs/mathematics.md): why score matching needs no normalising constant.
# - [Reference](../docs/reference.md): `LevelSet`, `Implicit`, `ExponentialFamily`, `LogDensity`, `Chart` and the base
#   classes.
