"""What is measured on many rows: how many, where they lie, and the files that hold them."""

import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

import tmsm
from benchmarks.measuring import forget
from scenarios.cap import MODEL, sample

_INLAND = {"mean_direction": tmsm.lonlat_to_xyz(-97, 39), "concentration": 30.0}


@dataclass
class Setting:
    """Numbers of rows, and the rows, which are drawn when they are first asked for.

    ``small`` is for a look at whether everything runs: what it measures means nothing.
    """

    small: bool = False
    folder: Path = field(init=False)

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rows-"))
        return self

    def __exit__(self, *error):
        shutil.rmtree(self.folder)

    def size(self, full, small):
        """A number of rows."""
        return small if self.small else full

    def repeats(self, n):
        """How often to measure."""
        return 1 if self.small else n

    @cached_property
    def coast(self):
        """The border of the United States."""
        return tmsm.datasets.load_border("usa")

    @cached_property
    def X(self):
        """Rows in a cap."""
        return sample(self.size(10_000_000, 60_000))

    @cached_property
    def Y(self):
        """Rows inside the border of the United States."""
        return self.inland(self.size(1_000_000, 10_000))

    def inland(self, n):
        """So many rows inside it."""
        return MODEL.sample(n, self.coast, random_state=0, **_INLAND)

    @cached_property
    def lonlat(self):
        """Degrees of some of the rows in the cap, from which those in files are drawn."""
        return tmsm.xyz_to_lonlat(self.X[: self.size(4_000_000, 60_000)])

    @cached_property
    def parquet(self):
        """A Parquet file of 40 row groups: places in any order, which no compression makes small."""
        return self._written("rows.parquet", 40)

    @cached_property
    def few_parquet(self):
        """The same with a twentieth of the rows."""
        return self._written("few.parquet", 2)

    @property
    def group_rows(self):
        """Rows of each row group."""
        return self.size(1_000_000, 2_000)

    @property
    def text_rows(self):
        """Rows of the CSV file."""
        return self.size(2_000_000, 20_000)

    def _written(self, name, n_groups):
        """So many row groups, with one column that is not read; no more than one of them in memory."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        lon, lat = self.lonlat
        rng, path, writer = np.random.default_rng(0), self.folder / name, None
        for _ in range(n_groups):
            rows = rng.integers(0, len(lon), self.group_rows)
            other = rng.standard_normal(len(rows), dtype=np.float32)
            table = pa.table({"time": other, "longitude": lon[rows], "latitude": lat[rows]})
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()
        forget(path)  # and it is written to the disk now
        return path

    @cached_property
    def text(self):
        """A CSV file, degrees with eight digits behind the point."""
        import pyarrow as pa
        import pyarrow.csv as csv

        lon, lat = (np.round(column[: self.text_rows], 8) for column in self.lonlat)
        path = self.folder / "rows.csv"
        csv.write_csv(pa.table({"time": np.arange(len(lon)), "longitude": lon, "latitude": lat}), path)
        return path
