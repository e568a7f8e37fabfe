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
# # A survey cut by a coast
#
# This tutorial goes from two files, a table of points and a border, to a conclusion that you can defend. On the way the
# first model turns out to be wrong. You will learn
#
# - how to read points and a border from files,
# - how to see that a model is wrong although its estimate looks precise,
# - how to find a better family of densities, and how to compare several,
# - how to predict what lies beyond the border, and how far such a prediction can be trusted.
#
# The data are simulated, so that the truth is known, and so that we can judge the conclusion at the end. The gallery
# has [real storms](../docs/gallery.md) with the same border.
#
# **You need** the extras `plot` and `report`, and pandas (in a checkout: `pip install '.[plot,report]' pandas`), and
# about ten minutes. The notebook itself runs in less than a minute.
#
# ## The question
#
# Birds of one species cross North America. For one week, observers report where they see them. There are observers
# everywhere in the contiguous United States, and nowhere else: no one reports from the sea, from Canada or from Mexico.
# Where are the birds, and how many of them are over the sea?
#
# The next cell makes the two files. In your work you have them already, so you do not need to read it.

# %%
import json
from pathlib import Path

import pandas as pd

import tmsm

TRUE_MODEL = tmsm.Mixture(tmsm.VonMisesFisher(), 2)
TRUTH = {
    "shares": [0.6, 0.4],
    "mean_direction": tmsm.lonlat_to_xyz([-88.5, -104.0], [28.0, 42.0]),
    "concentration": [80.0, 120.0],
}
all_birds = TRUE_MODEL.sample(5000, random_state=0, **TRUTH)
land = tmsm.datasets.load_border("usa")
folder = Path("coast-files")
folder.mkdir(exist_ok=True)
lon, lat = tmsm.xyz_to_lonlat(all_birds[land.contains(all_birds)])
pd.DataFrame({"longitude": lon, "latitude": lat}).to_csv(
    folder / "sightings.csv", index=False
)
written = (folder / "border.geojson").write_text(json.dumps(land.to_geojson()))

# %% [markdown]
# ## Read the points and the border
#
# A table with columns such as `longitude` and `latitude` can be given to a fit as it is.

# %%
sightings = pd.read_csv(folder / "sightings.csv")
sightings.head()

# %% [markdown]
# `SphericalPolygon.from_file` reads GeoJSON, WKT, shapefiles and other formats. Sides of polygons in such files are
# straight lines in longitude and latitude, and `tmsm` follows them. Always draw the border with the points before the
# first fit. It shows at once if longitude and latitude are exchanged, or if the border is another one than you think.

# %% alt="Map of the contiguous United States with the sightings inside"
border = tmsm.SphericalPolygon.from_file(folder / "border.geojson")
X = tmsm.table_to_xyz(sightings)
print(f"{len(X)} sightings, {border.contains(X).sum()} of them inside the border")
ax = border.plot(color="black", lw=1)
points = ax.scatter(sightings.longitude, sightings.latitude, s=2, color="#009E73")

# %% [markdown]
# All rows are inside. A row outside would be an error in a fit, unless you drop such rows with `outside="drop"`.
#
# ## The first model
#
# Begin with the smallest model that could describe the data. One round cluster, a von Mises–Fisher density, is the
# smallest one.

# %%
first = tmsm.ScoreMatching(tmsm.VonMisesFisher(), border).fit(sightings)
print(first.summary())

# %% [markdown]
# The estimate looks very good: the centre is known to about 50 km. But read on to the end. **Goodness of fit** has a
# p-value that is practically zero, and **status** says that the rows do not look like this model. The standard error
# says how much the estimate would move with another sample. It does not say that there is one round cluster.
#
# ## See what is wrong
#
# There are several ways to see this, and it is worth knowing all of them.
#
# **The tests.** `goodness_of_fit_` checks equations that hold if the model is right. The kernel Stein test compares the
# rows with the model through all smooth functions.

# %%
stein = tmsm.stein_test(first, X, random_state=0)
print(f"goodness of fit: p = {first.goodness_of_fit_.p_value:.1g}")
print(f"Stein test:      p = {stein.p_value:.1g}")

# %% [markdown]
# **The diagnostics.** They compare the rows with what the model expects, by the distance to the border and by the
# distance to the fitted centre. If only the left panel were wrong, the border would be the first suspect.

# %% alt="Histograms of the distance to the border and to the centre, with what the model expects"
diagnostics = first.plot_diagnostics()

# %% [markdown]
# The blue band is two standard errors wide on each side. A few of the bars may leave it by chance. But next to the
# border there are clearly more rows than expected, and some hundred kilometres from the centre there are fewer.
# Histograms show only what depends on these two distances. A map shows more.
#
# **A map without a model.** A density map does not assume any shape. It often shows at once which shape is needed.

# %% alt="Density map of the sightings, with a maximum in the north-west and a rise towards the Gulf of Mexico"
density = tmsm.DensityMap(border).fit(sightings)
display = density.plot()

# %% [markdown]
# The map shows a maximum in the north-west of the country, and a second rise towards the Gulf of Mexico, which is cut
# off at the coast. The centre of the first fit lies on the slope between the two. One round cluster cannot have this
# shape.
#
# ## Better families
#
# We try wider families, and two clusters. `TruncatedMLE`, the exact likelihood inside the border, is the right method
# for mixtures, because score matching [hardly determines](../docs/models.md#several-clusters) the shares of separate
# clusters.

# %%
round_cluster = tmsm.VonMisesFisher()
models = {
    "one round": round_cluster,
    "one oval": tmsm.Kent(),
    "Fisher–Bingham": tmsm.FisherBingham(),
    "one, heavy tails": tmsm.HeavyTailed(),
    "two round": tmsm.Mixture(round_cluster, 2),
    "three round": tmsm.Mixture(round_cluster, 3),
    "two and background": tmsm.Mixture(round_cluster, 2, background=True),
}
fits = {
    name: tmsm.TruncatedMLE(model, border).fit(sightings)
    for name, model in models.items()
}
tmsm.compare(fits)

# %% [markdown]
# The table is in the order of the [information criterion](../docs/checking.md#comparing-models) of score matching; lower
# is better. How to read it:
#
# - Heavy tails add nothing to one round cluster: their row has the same numbers.
# - One oval is rejected by the goodness of fit.
# - The family of Fisher and Bingham can have many shapes. The test rejects it at a level of 5 %, but not at 1 %. It has
#   one parameter more than two round clusters, and its likelihood is lower.
# - Two round clusters are not rejected.
# - A third cluster or a background adds parameters and gains nothing. The criterion of the background is the same,
#   because its estimated share is zero.
#
# The likelihoods can also be compared by the Bayesian information criterion, BIC. It is a sum over all rows, and lower
# is better. A difference of 10 is already strong evidence.

# %%
for name, one in sorted(fits.items(), key=lambda item: item[1].bic_):
    print(f"{name:<24} {one.bic_ - fits['two round'].bic_:7.1f}")

# %% [markdown]
# So we take two round clusters: the smallest model that no test rejects. This does not prove that it is true. It says
# that these rows contain no sign against it.

# %%
best = fits["two round"]
print(best.summary())

# %% alt="The sightings in the colours of the component to which they probably belong, and both centres"
picture = best.plot(by_component=True)

# %% [markdown]
# The status says that the centre of component 1 lies outside the region: it is over the Gulf of Mexico. The summary has
# two different shares for it.
#
# - `share` is its share of *all* birds, also of those that nobody could see. It is an extrapolation.
# - `of the rows seen` is its share of the sightings. The data determine this number directly.
#
# The diagnostics of this model look better. The rows next to the border are now as many as expected. A few of the sixty
# bars leave the band, as they should.

# %% alt="The same histograms for two clusters: the rows follow what the model expects"
diagnostics = best.plot_diagnostics()

# %% [markdown]
# ## What lies beyond the border?
#
# `extrapolate` predicts how many birds there are in a region for each bird that was seen. `border.surroundings(a, b)`
# is the ring outside the border between two distances, in radians. `compare` shows the predictions of several models
# side by side.

# %%
EARTH = 6371.0  # kilometres
rings = {
    f"{a}–{b} km": border.surroundings(a / EARTH, b / EARTH)
    for a, b in ((0, 250), (250, 500), (500, 1000))
}
chosen = ("two round", "three round", "Fisher–Bingham", "one oval", "one round")
table = tmsm.compare({name: fits[name] for name in chosen}, extrapolate=rings)
for row in table:
    print(f"{row.name:<16}", end="")
    for name, one in row.extrapolations.items():
        print(f"{name}: {one.in_words:<16}", end="")
    print()

# %% [markdown]
# Each error is valid *if its model is true*. Beyond 500 km the predictions of one oval and of one round cluster differ
# by seven standard errors. Both models are wrong, and their errors do not say by how much. The models that are not
# clearly rejected agree within their errors.
#
# ## Write it down
#
# A report is one HTML page that you can send to others. The saved fit is a text file that `tmsm.load` reads again.

# %%
best.report(folder / "report.html", title="Where were the birds?")
best.save(folder / "fit.json")
again = tmsm.load(folder / "fit.json")
print(again.summary() == best.summary())

# %% [markdown]
# ## The truth
#
# Only now we look at the truth, which a real survey does not have.

# %%
found, error = best.params_, best.std_errors_
for k in range(2):
    away = tmsm.Sphere(2).geodesic_distance(
        found.mean_direction[k], TRUTH["mean_direction"][k]
    )[0]
    print(f"component {k + 1}")
    print(f"  distance to the true centre {EARTH * away:.0f} km", end=", ")
    print(f"standard error {EARTH * error.mean_direction[k]:.0f} km")
    for name in ("concentration", "shares"):
        value, width = found[name][k], error[name][k]
        print(f"  {name} {value:.3g} ± {width:.2g}, truth {TRUTH[name][k]}")
for name, ring in rings.items():
    truth = ring.contains(all_birds).sum() / len(X)
    print(f"{name}: {best.extrapolate(ring).in_words}, truth {truth:.3f}")

# %% [markdown]
# Two clusters agree with the truth within about one and a half standard errors, in every number. One oval predicts
# twice the true number of birds beyond 500 km, with a small error.
#
# ## What the data cannot tell
#
# - **The shape at sea.** Nobody saw the birds there. The prediction continues the shape of the cluster on land. If the
#   birds avoid the open sea, the rows on land do not show it, and no test can show it.
# - **Far from the border.** For the first 250 km all models that are not clearly rejected predict nearly the same
#   number. Beyond 500 km their errors are a fifth of the number and more, even if the model is true.
# - **What never comes to land.** A third group that stays over the ocean leaves no trace in these data.
#
# So a careful conclusion is: the birds form two groups. The centre of one of them is near the coast, over the Gulf of
# Mexico, if the group has the same shape over the sea as over the land. For every bird that was seen there was about
# 0.3 of a bird within 250 km of the border. More distant numbers are not known well.
#
# ## What was learned
#
# - A small standard error does not mean that the model is right. Look at the goodness of fit first.
# - A density map shows which shape is needed. `compare` then orders the candidates.
# - Take the smallest model that is not rejected, and see whether wider ones change the answer.
# - Predictions beyond the border need several models side by side.
#
# ## Where to go next
#
# - [A density map](density_map.py): more about maps without a model.
# - [Models](../docs/models.md): all families, mixtures and backgrounds.
# - [Checking a fit](../docs/checking.md): what else can be wrong, and how to notice it.
# - [The command](../docs/command.md): the same steps without Python, as `tmsm fit` and `tmsm compare`.
