"""What holds for every source of rows, whatever size its blocks have."""

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tmsm
from tests.registry import SOURCE_WEIGHT, SOURCES, source_rows
from tmsm.data.rows import Rows


def mapped(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, source_rows())
    return np.load(path, mmap_mode="r")


@pytest.fixture(autouse=True)
def _dask_stays_here():
    with dask.config.set(scheduler="synchronous"):
        yield


EVERY_SOURCE = pytest.mark.parametrize("name", SOURCES)


@EVERY_SOURCE
@given(size=st.integers(1, 300))
def test_blocks_are_all_rows_in_order_each_time(name, size):
    source = SOURCES[name]()
    X, weight = source.table()
    assert X.shape == (len(source), source.n_columns)
    for _ in range(2 if source.rereadable else 1):
        blocks = list(source.blocks(size))
        assert max(len(block.X) for block in blocks) <= size
        starts = np.cumsum([0, *(len(block.X) for block in blocks)])
        assert [block.start for block in blocks] == starts[:-1].tolist()
        np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)
        if source.weighted:
            np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), weight)
        if source.groups is not None:
            np.testing.assert_array_equal(np.concatenate([block.groups for block in blocks]), source.groups.codes)


@EVERY_SOURCE
@given(n=st.integers(1, 400))
def test_a_sample_is_spread_evenly(name, n):
    source = SOURCES[name]()
    sample = source.sample(n)
    assert len(sample.X) <= n
    np.testing.assert_array_equal(sample.X, source.table()[0][:: source.stride(n)])
    if source.weighted:
        np.testing.assert_array_equal(sample.weight, SOURCE_WEIGHT[:: source.stride(n)])


@EVERY_SOURCE
@given(size=st.integers(1, 300))
def test_sums_do_not_depend_on_the_blocks(name, size):
    source = SOURCES[name]()
    total = source.reduce(lambda block: np.asarray(block.X, dtype=np.float64).sum(axis=0), size)
    np.testing.assert_allclose(total, source.table()[0].astype(np.float64).sum(axis=0), rtol=1e-12)
    assert source.reduce(lambda block: None, size) is None


@EVERY_SOURCE
def test_facts_agree_with_the_table(name):
    source = SOURCES[name]()
    X, weight = source.table()
    w = np.ones(len(X)) if weight is None else weight
    assert source.counts
    assert not source.all_identical()
    assert source.equally_weighted == (weight is None)
    if source.groups is None:
        assert source.effective_number == pytest.approx(w.sum() ** 2 / (w @ w))
    else:
        totals = np.bincount(source.groups.codes, w)
        assert source.effective_number == pytest.approx(totals.sum() ** 2 / (totals @ totals))


def test_a_memory_map_is_read_block_by_block(tmp_path):
    rows = Rows.of(mapped(tmp_path), tmsm.Everywhere(tmsm.Sphere(2)))
    np.testing.assert_array_equal(np.concatenate(list(rows.map(lambda block: block.X))), source_rows())
    assert isinstance(rows.source.X, np.memmap)
