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
# # The centre of the Galaxy from the north
#
# This tutorial shows what `tmsm` does with a small and real data set: it finds the centre of the Milky Way although the
# centre itself cannot be seen. You will learn
#
# - how to describe the part of the sky that was observed,
# - what goes wrong if a fit ignores where the observation ends,
# - how to read an estimate, its error and its confidence region,
# - how to check that the answer does not depend on a choice that you made.
#
# **You need** the extra `plot` (in a checkout: `pip install '.[plot]'`) and about five minutes. The notebook itself
# runs in some seconds. No knowledge of the method is needed.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tmsm

# %% [markdown]
# ## The data
#
# A globular cluster is a ball of some hundred thousand old stars. About 150 of them surround the centre of our Galaxy.
# In 1918 Harlow Shapley used them to find out where this centre is. The package contains their positions on the sky:
# right ascension (the longitude of the sky) and declination (its latitude), in degrees.

# %%
clusters = tmsm.datasets.load_globular_clusters()
print(clusters)
for k in range(3):
    print(clusters.name[k], clusters.right_ascension[k], clusters.declination[k])

# %% [markdown]
# Today we know the answer from radio telescopes: the centre is the object Sagittarius A*. We use it only at the end, to
# judge the results.
#
# Now suppose that your observatory is in the north, and that it cannot see anything south of declination −20°. You have
# the clusters north of this limit only.

# %%
LIMIT = -20.0  # degrees
seen = clusters.declination > LIMIT
X = clusters.X[seen]  # unit vectors, one row for each cluster
print(
    f"{len(X)} of {len(clusters)} clusters can be seen; X has the shape {X.shape}."
)

# %% [markdown]
# `tmsm` works with unit vectors. `clusters.X` has them already; for a table of your own
# `tmsm.lonlat_to_xyz(right_ascension, declination)` computes them from degrees.
#
# ## The region
#
# The **region** says where a cluster could have been observed. Here it is everything within 110° of the north pole of
# the sky. `tmsm` calls such a region a cap. Its radius is in radians.

# %%
view = tmsm.Cap([0.0, 0.0, 1.0], radius=np.radians(90.0 - LIMIT))
print(view)
print("All rows are inside the region:", view.contains(X).all())

# %% [markdown]
# Describe the region by what you know about the observation, and not by the points. A region that is drawn tightly
# round the points is wrong: it says that points beyond it were impossible to see, which is not true.
#
# ## A fit that ignores the region
#
# The von Mises–Fisher density is the simplest model for directions that lie round a centre. It has a mean direction,
# and a concentration κ: the larger κ is, the narrower is the cluster of points. `NaiveMLE` fits it by maximum
# likelihood, as if the whole sky had been observed.

# %%
model = tmsm.VonMisesFisher()
naive = tmsm.NaiveMLE(model).fit(X)
naive

# %% [markdown]
# A notebook shows a fit as a table, with a small picture where it can draw one. An array of unit vectors does not say
# what the directions mean, so the table has longitudes between −180° and 180°. With a data frame that has columns `ra`
# and `dec` in place of the array, it would have right ascensions. Here a small function prints the right ascension and
# the declination of a fitted centre, and its distance to the known one.

# %%
sagittarius = tmsm.lonlat_to_xyz(266.417, -29.008)


def distance(fit):
    """Degrees between the fitted centre and Sagittarius A*."""
    return np.degrees(
        tmsm.Sphere(2).geodesic_distance(fit.params_.mean_direction, sagittarius)[0]
    )


def show(name, fit):
    lon, lat = tmsm.xyz_to_lonlat(fit.params_.mean_direction)
    error = np.degrees(fit.std_errors_.mean_direction)
    print(f"{name}: ({lon % 360:.0f}°, {lat:.0f}°) ± {error:.0f}°,", end=" ")
    print(f"{distance(fit):.0f}° from Sagittarius A*")


show("ignoring the region", naive)

# %% [markdown]
# The fit puts the centre into the middle of the clusters that were seen. It cannot do anything else, because it takes
# the empty southern sky for a place without clusters. Its standard error is much smaller than its distance to the true
# centre. So the error does not warn you: it describes the scatter of the points, and not the points that are missing.
#
# ## The fit with the region
#
# `ScoreMatching` takes the region as its second argument. Everything else is the same.

# %%
fit = tmsm.ScoreMatching(model, view).fit(X)
show("with the region", fit)

# %% [markdown]
# The centre is now close to the true one. The standard error is larger than that of the first fit, because it includes
# the uncertainty about what lies beyond the limit. `summary()` has the whole answer.

# %%
print(fit.summary())

# %% [markdown]
# How to read this table:
#
# - **mean direction** is the centre. Its interval has two lengths. They say how far the 95 % confidence region reaches
#   from the estimate along its two main axes.
# - **concentration** is κ. `spread (1σ)` is the same in degrees: about the standard deviation in one direction.
# - **mass outside** is the share of the fitted distribution that could not be observed.
# - **goodness of fit** is a test of the model. A p-value below 0.01 would say that the clusters do not look like a von
#   Mises–Fisher density. Here there is no sign of that.
# - **status** says how the estimate was found, and warns. Here the warnings are that the centre lies outside the region
#   and is therefore extrapolated, and that there are few rows.
#
# [Checking a fit](../docs/checking.md) explains each line and each sentence of the status.
#
# ## The confidence region
#
# The 95 % confidence region contains the true centre in 95 of 100 such samples, if the model is right.

# %%
print("The region contains Sagittarius A*:", fit.covers(sagittarius))
print(
    "The region of the fit without a region contains it:", naive.covers(sagittarius)
)
print(fit.confidence_region("mean_direction"))

# %% [markdown]
# A picture says the same. Green points are the clusters that were seen. The small rings are those that were not;
# neither fit knew them. On maps of the sky the right ascension grows to the left, because we look at the sky from
# inside.

# %% alt="The sky: the clusters that were seen, the border, and the centres of both fits with 95 % regions"
marks = {
    "Sagittarius A*": sagittarius,
    "clusters that were not seen": clusters.X[~seen],
}
fits = {"with the region": fit, "ignoring the region": naive}
display = tmsm.FitDisplay.from_estimators(
    fits, frame="icrs", marks=marks, density=False
)

# %% [markdown]
# ## Was it luck?
#
# The centre is closer to the truth than its standard error says. So part of this result is luck. A single example also
# does not show that the method works. Two checks are easy here.
#
# **Another method.** The exact likelihood of the points inside the region is possible here as well, because the
# integral of the density over the view is cheap. It uses the same model, but another calculation.

# %%
exact = tmsm.TruncatedMLE(model, view).fit(X)
show("exact likelihood", exact)
print("Its 95 % region contains Sagittarius A*:", exact.covers(sagittarius))

# %% [markdown]
# Both fits agree within their errors. Two methods that disagree by more than their errors are a sign that the model is
# wrong.
#
# **Another limit.** We chose −20°. What would an observatory have found that sees more of the sky, or less?

# %%
limits = np.arange(-34, 1, 2)
found = []
for limit in limits:
    rows = clusters.X[clusters.declination > limit]
    cap = tmsm.Cap([0.0, 0.0, 1.0], np.radians(90.0 - limit))
    found.append(
        [
            distance(tmsm.ScoreMatching(model, cap).fit(rows)),
            distance(tmsm.TruncatedMLE(model, cap).fit(rows)),
            distance(tmsm.NaiveMLE(model).fit(rows)),
        ]
    )
found = np.array(found)
mean, closer = found.mean(axis=0), (found[:, 0] < found[:, 2]).sum()
print(f"mean distance, score matching:      {mean[0]:.0f}°")
print(f"mean distance, exact likelihood:    {mean[1]:.0f}°")
print(f"mean distance, ignoring the region: {mean[2]:.0f}°")
print(f"Score matching is closer than the last one at {closer} limits.")

# %% alt="Distance to the true centre at 18 southern limits, for three fits"
figure, ax = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
ax.plot(limits, found[:, 0], "o-", color="#0072B2", ms=5, label="score matching")
ax.plot(limits, found[:, 1], "s:", color="#009E73", ms=5, label="exact likelihood")
ax.plot(
    limits, found[:, 2], "X-", color="#D55E00", ms=5, label="ignoring the region"
)
ax.axvline(LIMIT, color="0.6", ls="--", lw=1)
ax.set(
    xlabel="southern limit of the view (declination, degrees)",
    ylabel="distance to Sagittarius A* (degrees)",
)
ax.set_ylim(bottom=0.0)
legend = ax.legend(frameon=False)

# %% [markdown]
# The dashed line is our limit. Three things can be read from this picture:
#
# - At −28° and south of it the view contains the centre, or nearly. All three fits are then about equally good. If
#   little is cut off, little is lost by ignoring it.
# - North of −28° the fit that ignores the region becomes worse and worse. Both fits with the region stay within 30° of
#   the centre.
# - −20° and −18° are the luckiest of all limits. With the other limits score matching is between 4° and 27° away from
#   the centre.
#
# These 18 fits are not independent, because they share most of their clusters.
#
# ## What was learned
#
# - A region is one object. With it, the rest of the code is that of an ordinary fit.
# - A fit that ignores the region is wrong here by more than its own error, and nothing in its result says so.
# - A centre outside the region is an extrapolation. It relies on the shape of the model. Here the truth is known and
#   confirms it. Without a known truth you need the goodness of fit, other models and other methods.
# - With 48 points the errors are large, and they are approximate.
#
# ## Where to go next
#
# - [A survey cut by a coast](coast.py): a border from a file, and a model that is wrong.
# - [Checking a fit](../docs/checking.md): the tests, the warnings, and a table of what can go wrong.
# - [Points and regions](../docs/regions.md): tables, files and other kinds of regions.
