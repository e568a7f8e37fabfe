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
# # A density map inside a border
#
# Sometimes you have points inside a border, no model for them, and one question: where are they dense? This tutorial
# makes such a map in two ways, and compares both with a known truth. You will learn
#
# - why an ordinary kernel density map is wrong next to a border,
# - how to fit a map that knows the border, and how to read its error band,
# - how to ask a map for the share of a part of the region, and for the smallest area that holds half of the points,
# - how to choose between two maps, and what a map cannot tell.
#
# **You need** the extra `plot` (in a checkout: `pip install '.[plot]'`) and about ten minutes. The notebook itself runs
# in less than a minute. SciPy, which `tmsm` uses anyway, provides the ordinary kernel density map.
#
# ## Nests in a reserve
#
# A reserve lies at the shore of a lake. Coordinates are kilometres, so this is flat space, and the region is a
# `Polygon`. For places on the Earth use `SphericalPolygon` or `LonLatBox`; the rest is the same. In flat space, areas
# and distances have the unit of the coordinates.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gaussian_kde

import tmsm

corners = [
    [0, 0],
    [6, -1.5],
    [11, 2.5],
    [16, -1],
    [22, 1],
    [28, -2],
    [33, 1],
    [35, 18],
    [24, 24],
    [11, 21],
    [2, 23],
]
reserve = tmsm.Polygon(np.array(corners, dtype=float))

# %% [markdown]
# The nests are simulated, so that the maps can be compared with the truth. The density has two maxima. One is centred
# in the lake, just outside the reserve; there are no nests in the lake, and so the density is highest at the shore. The
# other maximum lies inland. Some nests are spread evenly over the reserve.

# %%
TRUE_MODEL = tmsm.Mixture(
    tmsm.MultivariateNormal(isotropic=True), 2, background=True
)
TRUTH = {
    "shares": [0.55, 0.25],
    "background_share": 0.2,
    "mean": [[17.0, -2.0], [26.0, 15.0]],
    "covariance": [
        16.0 * np.eye(2),
        9.0 * np.eye(2),
    ],  # standard deviations of 4 and 3 km
}
nests = TRUE_MODEL.sample(1200, reserve, random_state=0, **TRUTH)
print(f"{len(nests)} nests, all inside: {reserve.contains(nests).all()}")

# %% [markdown]
# Your own data would be an array with two columns, `x` and `y`, or a file with these columns.
#
# ## The ordinary map
#
# A kernel density map puts a small bell, the kernel, on each point and adds them up. It does not know the border.

# %%
kernel = gaussian_kde(nests.T)
draws = kernel.resample(100_000, seed=0).T
lost = 1.0 - reserve.contains(draws).mean()
print(
    f"{100 * lost:.0f} % of the mass of the ordinary map lies outside the reserve."
)

# %% [markdown]
# No nest can lie outside. The mass that the map puts there is missing inside, and it is missing next to the border.
#
# ## Two maps that know the border
#
# `DensityMap` is a smooth map: the logarithm of the density is a smooth function, fitted inside the border only.
# `AdaptiveKernel` is a kernel map whose kernels are cut at the border, and whose widths follow the density. Both choose
# their smoothness themselves, by the likelihood of points that were held out.

# %%
smooth = tmsm.DensityMap(reserve).fit(nests)
print(smooth.summary())

# %%
kernels = tmsm.AdaptiveKernel(reserve).fit(nests)
print(kernels.summary())

# %% [markdown]
# In the first summary the bumps are the spline functions of the map, and smoothing is its ridge penalty. In the second
# one a place is a position of one or more points. [Density maps](../docs/maps.md#how-the-two-maps-work) explains these
# terms. The line **band** of both summaries is important, and we come back to it.
#
# **Which map is better?** `held_out_` is the mean log density of points that took no part in the fit. Both maps hold
# out the same points, so that the numbers can be compared. Larger is better.

# %%
print(f"smooth map {smooth.held_out_:.3f}, kernel map {kernels.held_out_:.3f}")

# %% [markdown]
# The smooth map is a little better here. With data that have narrow structures, such as roads or colonies, the kernel
# map is often better. With fewer than a few hundred points the difference of the two numbers is mostly chance.
#
# ## The picture
#
# `plot` draws a map. Its unit is the mean density of the region. The white lines enclose the smallest areas that hold
# 50 and 90 % of the mass. With `what="error"` it draws the factor of the 95 % band: at 1.5 the band goes from the
# density divided by 1.5 to the density times 1.5.

# %% alt="The smooth map of the nests, with lines round the densest areas"
display = smooth.plot(rows=True)

# %% alt="The factor of the 95 % band of the smooth map"
display = smooth.plot(what="error")

# %% [markdown]
# The error is small where there are many nests, and larger along the border and in places with few nests.
#
# ## Comparison with the truth
#
# The next picture shows the truth and all three maps in the same colours.

# %% alt="Four maps in the same colours: the truth, the smooth map, the kernel map, and the ordinary kernel map"
grid_x, grid_y = np.meshgrid(
    np.arange(-0.5, 36.0, 0.15), np.arange(-2.5, 25.0, 0.15)
)
grid = np.column_stack([grid_x.ravel(), grid_y.ravel()])
inside = reserve.contains(grid)
panels = {
    "truth": TRUE_MODEL.logpdf(grid, reserve, **TRUTH),
    "smooth map": smooth.logpdf(grid),
    "kernel map": kernels.logpdf(grid),
    "ordinary map": kernel.logpdf(grid.T),
}
figure, axes = plt.subplots(
    2, 2, figsize=(9.0, 6.6), layout="constrained", sharex=True, sharey=True
)
top = np.exp(panels["truth"]).max()
for ax, (name, log_density) in zip(axes.flat, panels.items(), strict=True):
    shown = np.where(inside, np.exp(log_density), np.nan).reshape(grid_x.shape)
    image = ax.pcolormesh(
        grid_x, grid_y, shown, vmin=0.0, vmax=top, rasterized=True
    )
    ax.fill(*np.array(corners).T, fill=False, color="black", lw=1)
    ax.set(title=name, aspect="equal")
bar = figure.colorbar(image, ax=axes, label="nests per km², as a share of all")

# %% [markdown]
# The ordinary map is pale along the shore, where the truth is brightest. The two other maps continue up to the border.
#
# Numbers say it more exactly. We draw many new points from the truth, and compute two figures for each map: the mean of
# log(truth / map), the Kullback–Leibler divergence, which is zero for a perfect map; and the mean of log(map / truth)
# for the points within 1 km of the border, which is negative if the map is too low there.

# %%
new = TRUE_MODEL.sample(20_000, reserve, random_state=1, **TRUTH)
true_log = TRUE_MODEL.logpdf(new, reserve, **TRUTH)
near = reserve.border_distance(new)[0] < 1.0
logs = {
    "smooth map": smooth.logpdf(new),
    "kernel map": kernels.logpdf(new),
    "ordinary map": kernel.logpdf(new.T),
}
results = {}
for name, log_density in logs.items():
    difference = log_density - true_log
    results[name] = -np.mean(difference), np.mean(difference[near])
    print(f"{name:<13} divergence {results[name][0]:.3f}", end=", ")
    print(f"mean of log(map / truth) near the border {results[name][1]:.2f}")

# %% [markdown]
# The divergence of the ordinary map is several times as large as that of the others. Near the border it is too low by a
# factor of about two, as exp(−0.67) is 0.51. The kernel map is flatter near the border than the truth, too; the smooth
# map is best there.
#
# ## The band
#
# `interval` gives a 95 % band for the log density, at each point by itself. With a known truth we can count how often
# the band contains it.

# %%
covered = {}
for name, one in (("smooth map", smooth), ("kernel map", kernels)):
    low, high = one.interval(new)
    covered[name] = np.mean((low <= true_log) & (true_log <= high))
    print(f"{name}: the band contains the truth for {100 * covered[name]:.0f} %")

# %% [markdown]
# The band of the smooth map contains chance and, on average over the region, the bias of the smoothing. The band of the
# kernel map contains chance only, so it contains the truth less often. That is what the line **band** of the summaries
# says, and [density maps](../docs/maps.md#what-the-band-means) explains it. If you need errors, use the smooth map.
#
# ## Questions to a map
#
# **A share.** Which share of the nests lies in a strip along the shore? The strip reaches from the shore 2 km to the
# north. It is a polygon like the reserve, and `&` is the part that both have in common.

# %%
shore = np.array(corners[:7], dtype=float)
strip = tmsm.Polygon(
    np.vstack([shore - np.array([0.0, 1.0]), shore[::-1] + np.array([0.0, 2.0])])
)
share = smooth.share(reserve & strip)
low, high = share.confidence_interval()
print(f"expected: {100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)")
for name, points in (("sample", nests), ("truth", new)):
    print(f"{name}: {100 * strip.contains(points).mean():.1f} %")

# %% [markdown]
# **The core area.** The smallest area that holds half of the mass is often called the core of a home range. It may have
# several pieces.

# %% alt="The outline of the smallest area that holds half of the nests, with the nests"
half = smooth.highest_density_region(0.5)
print(f"{half.area:.0f} km² in {len(half.rings)} pieces hold half of the nests.")
print(f"Of the new points {100 * half.contains(new).mean():.0f} % lie inside.")
figure, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
ax.fill(*np.array(corners).T, fill=False, color="black", lw=1)
ax.scatter(*nests.T, s=3, color="#009E73", alpha=0.6)
for ring in half.rings:
    ax.plot(*np.vstack([ring, ring[:1]]).T, color="#0072B2")
text = ax.set(aspect="equal", xlabel="km", ylabel="km")

# %% [markdown]
# **Files.** `smooth.predict(step=0.5)` gives pixels. `smooth.write("map.png")` writes a picture. For places on the
# Earth, `write` also makes GeoTIFF, GeoJSON and HEALPix files, and `tmsm map` does all of this on the command line.
#
# ## What a map cannot tell
#
# - **Nothing beyond the border.** A map has no shape that could be continued. To extrapolate, fit a model.
# - **How well the places were searched.** If some parts of the reserve were searched less, the map shows this as fewer
#   nests. If you know how well each place was searched, give its logarithm to the map:
#   `DensityMap(reserve, log_exposure=f)`. [Exposure](../docs/regions.md#how-well-each-place-was-observed) has examples.
# - **Dependent points.** Positions of the same animal depend on each other. Pass `groups=` to `fit`; otherwise the map
#   is too rough and its band too narrow.
#
# ## What was learned
#
# - An ordinary kernel map loses mass over the border, and it is too low next to it.
# - `DensityMap` and `AdaptiveKernel` respect the border and need no choices. `held_out_` compares them.
# - Bands of the smooth map contain the bias of the smoothing, on average. Bands of the kernel map do not.
#
# ## Where to go next
#
# - [Density maps](../docs/maps.md): how both maps work, how accurate they are, and what can go wrong.
# - [A survey cut by a coast](coast.py): a map as a help to find a model.
# - [Points and regions](../docs/regions.md): borders from files, and exposure.
