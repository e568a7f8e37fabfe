"""Rows in files: fits against pyarrow's own reading of the same columns, and their memory."""

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
    path, n = setting.parquet, 40 * setting.group_rows
    fit, read = fitted(str(path), CAP), read_parquet(path)
    fit(), read()
    ours, theirs = medians([fit, read], setting.repeats(7))
    name, sums = f"Parquet, {n:,} rows, with errors", "sines of degrees, and the sums"
    yield f"{name}, over the cached read of its columns", ours / theirs, "times", (0, 3), sums
    yield "… rows a second", n / ours / 1e6, "million", ANY, sums
    if forget(path):
        cold, cold_read = medians([fit, read], setting.repeats(5), before=lambda: forget(path))
        yield f"{name}, over the read from the disk", cold / cold_read, "times", (0, 1.6), "the disk, then the sums"
        yield "… that read over the cached one", cold_read / theirs, "times", ANY, "the disk"
    waiting = "batches that threads work on"
    yield f"{name}, extra memory", extra_memory(path) / 1e6, "MB", (0, 350), waiting
    yield "… of a twentieth of the rows", extra_memory(setting.few_parquet) / 1e6, "MB", ANY, waiting


def text_lines(setting):
    """A CSV file, which is read twice: to be counted, and to be summed."""
    path, n = setting.text, setting.text_rows
    fit, read = fitted(str(path), CAP), read_text(path)
    fit(), read()
    ours, theirs = medians([fit, read], setting.repeats(5))
    texts = "texts to numbers, twice"
    yield f"CSV, {n:,} rows, with errors, over pyarrow's read", ours / theirs, "times", (0, 3), texts
    yield "… rows a second", n / ours / 1e6, "million", ANY, texts
