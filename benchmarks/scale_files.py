"""Rows in files: fits against pyarrow's own reading of the same columns, and their memory."""

import numpy as np

from benchmarks.measuring import extra_memory, forget, medians
from benchmarks.scale_rows import ANY, fitted
from scenarios.cap import CAP

COLUMNS = ["longitude", "latitude"]


def read_parquet(path):
    """Both columns batch by batch, by pyarrow alone: on one thread and without buffers, as it is fastest here."""
    import pyarrow.parquet as pq

    def read():
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
            for batch in file.iter_batches(2**17, columns=COLUMNS, use_threads=False):
                del batch

    return read


def read_text(path):
    """The same of a CSV file, as numbers."""
    import pyarrow.csv as csv

    def read():
        convert = csv.ConvertOptions(include_columns=COLUMNS)
        with csv.open_csv(path, csv.ReadOptions(block_size=2**22, use_threads=False), convert_options=convert) as file:
            for batch in file:
                del batch

    return read


def parquet_lines(setting):
    """A Parquet file of many row groups: time and memory."""
    path, few = setting.parquet, setting.few_parquet
    n = 40 * setting.size(1_000_000, 2_000)
    fit, read = fitted(str(path), CAP), read_parquet(path)
    fit(), read()
    ours, theirs = medians([fit, read], setting.repeats(7))
    name = f"Parquet, {n:,} rows, with errors"
    yield (
        f"{name}, over the cached read of its columns",
        ours / theirs,
        "times",
        (0, 3),
        "sines of degrees, and the sums",
    )
    yield "… rows a second", n / ours / 1e6, "million", ANY, "sines of degrees, and the sums"
    if forget(path):
        cold, cold_read = medians([fit, read], setting.repeats(5), before=lambda: forget(path))
        yield f"{name}, over the read from the disk", cold / cold_read, "times", (0, 1.6), "the disk, then the sums"
        yield "… that read over the cached one", cold_read / theirs, "times", ANY, "the disk"
    tenth = setting.few_parquet
    yield f"{name}, extra memory", extra_memory(path, tenth) / 1e6, "MB", (0, 350), "batches that wait for threads"
    yield "… of a twentieth of the rows", extra_memory(few, tenth) / 1e6, "MB", ANY, "batches that wait for threads"


def text_lines(setting):
    """A CSV file, which is read twice: to be counted, and to be summed."""
    path = setting.text
    fit, read = fitted(str(path), CAP), read_text(path)
    fit(), read()
    ours, theirs = medians([fit, read], setting.repeats(5))
    n = setting.size(2_000_000, 20_000)
    yield (
        f"CSV, {n:,} rows, with errors, over pyarrow's read",
        ours / theirs,
        "times",
        (0, 3),
        "texts to numbers, twice",
    )
    yield "… rows a second", n / ours / 1e6, "million", (0, np.inf), "texts to numbers, twice"
