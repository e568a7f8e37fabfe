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
# # A table larger than memory
#
# Surveys of the sky, of animals or of earthquakes have tables that do not fit into memory. For most models you need not
# load such a table, nor take a part of it: the fit reads the rows block by block and keeps only sums over them. You will
# learn
#
# - how to fit a folder of files by its path, with groups and with filters,
# - how to show that the answer is that of the rows in memory, and how much memory it takes,
# - how to fit rows that arrive piece by piece,
# - how to save sums and to add them later, without the rows,
# - how to use several threads, and Dask.
#
# **You need** the extras `geo` and `plot` (in a checkout: `pip install '.[geo,plot]'`; pyarrow, which reads Parquet
# files, is in `geo`), and about ten minutes. The last section needs the extra `dask`. The notebook itself runs in less
# than a minute.
#
# ## A folder of files
#
# We write a folder of Parquet files, one for each night of a survey. With `ROWS = 400_000` the notebook is quick. You
# can make the table as large as your disk allows. Then leave out the section that loads all rows.

# %%
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tmsm

ROWS, FILES = 400_000, 8
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(266.4, -29.0), "concentration": 1.0}

model = tmsm.VonMisesFisher()
view = tmsm.Cap(
    [0.0, 0.0, 1.0], radius=np.radians(110.0)
)  # north of declination −20°
folder = Path(tempfile.mkdtemp()) / "survey"
folder.mkdir()
rng = np.random.default_rng(0)
for night in range(FILES):
    lon, lat = tmsm.xyz_to_lonlat(
        model.sample(ROWS // FILES, view, random_state=rng, **TRUTH)
    )
    columns = {
        "ra": lon % 360.0,
        "dec": lat,
        "magnitude": rng.uniform(12.0, 20.0, len(lon)),
    }
    columns["field"] = rng.integers(0, 200, len(lon))
    pq.write_table(
        pa.table(columns), folder / f"night-{night}.parquet", row_group_size=10_000
    )
size = sum(path.stat().st_size for path in folder.iterdir())
print(f"{ROWS:,} rows in {FILES} files, {size / 1e6:.0f} MB")

# %% [markdown]
# ## Fit the folder
#
# Give `fit` the path. It finds the columns by their names, and it reads only these. A single Parquet or CSV file works
# in the same way.

# %%
fit = tmsm.ScoreMatching(model, view).fit(folder)
print(fit.summary())

# %% [markdown]
# The columns are named `ra` and `dec`, so the summary shows right ascension and declination.
#
# ## Is it the same answer?
#
# We load all rows, because this table is small enough, and compare.

# %%
table = pq.read_table(folder, columns=["ra", "dec"])
X = tmsm.lonlat_to_xyz(table["ra"].to_numpy(), table["dec"].to_numpy())
in_memory = tmsm.ScoreMatching(model, view).fit(X)
distance = np.abs(fit.natural_params_ - in_memory.natural_params_) / np.sqrt(
    np.diag(in_memory.covariance_)
)
print("largest difference below 1e-6 standard errors:", distance.max() < 1e-6)

# %% [markdown]
# ## How much memory does it take?
#
# Python can report the largest amount of memory that its objects and NumPy's arrays took during a call. (Buffers of
# pyarrow are not counted here.) We compare the fit of a folder with reading its rows into an array, for folders that
# hold the same files several times. Hard links, second names of a file, take no space on the disk.

# %% tags=["varies"]
import tracemalloc


def largest(function, part):
    """Megabytes that a call took at most."""
    tracemalloc.start()
    function(part)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def read_all(part):
    table = pq.read_table(part, columns=["ra", "dec"])
    return tmsm.lonlat_to_xyz(table["ra"].to_numpy(), table["dec"].to_numpy())


memory = {}
for times in (2, 4, 8):
    part = folder.parent / f"{times}-times"
    part.mkdir()
    for path in folder.iterdir():
        for k in range(times):
            (part / f"{k}-{path.name}").hardlink_to(path)
    of_fit = largest(tmsm.ScoreMatching(model, view).fit, part)
    memory[times] = of_fit, largest(read_all, part)
    print(f"{times * ROWS:>9,} rows:", end=" ")
    print("fit of the folder {:.0f} MB, array {:.0f} MB".format(*memory[times]))

# %% [markdown]
# The array grows with the number of rows. The memory of the fit hardly grows. It holds some blocks of rows, and a
# sample of at most 65,536 rows for the tests and pictures. For small tables that is more than the table itself. The
# page on [large tables](../docs/performance.md) has the figures for 40 million rows, and lists the kinds of fit that do
# hold all rows, such as mixtures and density maps.
#
# The blocks are the units in which rows are read. You can look at them.

# %%
from tmsm.data.table_source import open_table

source = open_table(folder)
sizes = [len(block.X) for block in source.blocks(16_384)]
print(f"{len(source):,} rows in {len(sizes)} blocks of at most {max(sizes):,} rows")

# %% [markdown]
# ## Some of the rows, and groups
#
# `open_table` takes the names of the columns if they are unusual, and a filter. For groups you give the name of a
# column. Stars of one field share the errors of its calibration, so their rows depend on each other. (The rows of this simulated
# table are independent, so that the groups hardly change the error.)

# %%
bright = tmsm.ScoreMatching(model, view).fit(
    open_table(folder, where="magnitude < 15")
)
grouped = tmsm.ScoreMatching(model, view).fit(folder, groups="field")
for name, one in {"all rows": fit, "bright": bright, "in groups": grouped}.items():
    kappa, error = one.params_.concentration, one.std_errors_.concentration
    print(f"{name:<10} {one.n_samples_:>7,} rows, κ = {kappa:.4f} ± {error:.4f}")

# %% [markdown]
# ## Rows that arrive piece by piece
#
# A program that runs every night gives each night to `partial_fit`, and forgets the rows. The estimate is up to date
# after each call.

# %%
stream = tmsm.ScoreMatching(model, view)
course = []
for path in sorted(folder.iterdir()):
    stream.partial_fit(pq.read_table(path, columns=["ra", "dec"]))
    kappa, error = stream.params_.concentration, stream.std_errors_.concentration
    course.append([stream.n_samples_, kappa, error])
    print("{:>7,} rows: κ = {:.4f} ± {:.4f}".format(*course[-1]))

# %% alt="The estimate of κ with its interval after each night; the intervals become shorter and contain the truth"
import matplotlib.pyplot as plt

rows, estimate, error = np.array(course).T
figure, ax = plt.subplots(figsize=(6.0, 3.0), layout="constrained")
ax.errorbar(rows, estimate, 1.96 * error, fmt="o", capsize=3, color="#0072B2")
ax.axhline(TRUTH["concentration"], color="black", lw=1, ls="--")
text = ax.set(xlabel="rows", ylabel="κ with its 95 % interval", xlim=(0.0, None))

# %% [markdown]
# Each row was read once. If rows are sorted, for example by declination, shuffle them before. The first rows determine
# the scale of some weights and a first estimate, and both are kept for all later rows.
#
# ## Save sums, add them later
#
# `moments_` are the sums that the estimate needs. They can be saved in a small file and added to others, on another
# machine, without the rows. All parts must use the same model, weight and first estimate. The sums of the first part
# contain these, and `cleared()` gives a copy without the rows. The other parts begin from this copy.

# %%
paths = sorted(folder.iterdir())
read = [pq.read_table(path, columns=["ra", "dec"]) for path in paths]
tmsm.ScoreMatching(model, view).partial_fit(read[0]).moments_.save(
    folder.parent / "start.npz"
)
for night in range(1, FILES):  # on each machine
    begun = tmsm.load_moments(folder.parent / "start.npz").cleared()
    part = tmsm.ScoreMatching.from_moments(begun).partial_fit(read[night])
    part.moments_.save(folder.parent / f"part-{night}.npz")

# %%
total = tmsm.load_moments(folder.parent / "start.npz")  # anywhere, without the rows
for night in range(1, FILES):
    total = total + tmsm.load_moments(folder.parent / f"part-{night}.npz")
added = tmsm.ScoreMatching.from_moments(total)
kappa, error = added.params_.concentration, added.std_errors_.concentration
print(f"{added.n_samples_:,} rows, κ = {kappa:.4f} ± {error:.4f}")
print(
    "the same as the stream:",
    np.allclose(added.natural_params_, stream.natural_params_, rtol=1e-9),
)

# %% [markdown]
# Sums that do not belong together are refused, with a message that says why.

# %%
try:
    total + tmsm.ScoreMatching(tmsm.Kent(), view).partial_fit(read[0]).moments_
except ValueError as error:
    print(error)

# %% [markdown]
# ## Threads and clusters
#
# A large fit uses all processors. `n_jobs` limits them. The result is the same to the last bit for every number of
# threads.

# %%
one = tmsm.ScoreMatching(model, view, n_jobs=1).fit(folder)
two = tmsm.ScoreMatching(model, view, n_jobs=2).fit(folder)
print("the same bits:", (one.natural_params_ == two.natural_params_).all())

# %% [markdown]
# With Dask the rows may lie on many machines. `fit` takes its arrays and frames. If there is an active
# `distributed.Client`, its workers do the work; without one, this machine does. Here the rows are an array in memory,
# so that threads are enough. For files, `dask.dataframe.read_parquet(folder)` is the frame to give to `fit`.

# %%
import dask.array as da

points = da.from_array(X, chunks=(50_000, 3))
spread = tmsm.ScoreMatching(model, view).fit(points)
print(
    "the same estimate:",
    np.allclose(spread.natural_params_, in_memory.natural_params_, rtol=1e-9),
)

# %% [markdown]
# ## What was learned
#
# - The path of a file or a folder can take the place of the rows. The answer is the same but for rounding.
# - The memory of this fit does not grow with the table. Mixtures, density maps and the bootstrap do hold all rows.
# - `partial_fit` reads each row once. `moments_` can be saved, loaded and added.
# - `n_jobs` and Dask change the time, not the answer.
#
# ## Where to go next
#
# - [Large tables and speed](../docs/performance.md): what is kept, what each fit needs, and measured speeds.
# - [The command](../docs/command.md): `tmsm fit folder/ --region border.geojson` reads block by block, too.
# - [Checking a fit](../docs/checking.md): groups, and why they change the errors.
