"""Tables, shared with other libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

import slotline as sl


def test_every_table_has_described_columns(small: sl.Result) -> None:
    assert small.tables["flows"] == len(small.flows) == 32
    for name in small.tables:
        table = small.table(name)
        assert [about[0] for about in table.about()] == table.columns
        assert all(meaning for _, _, _, meaning in table.about())
        assert {len(table[column]) for column in table.columns} == {len(table)}
    with pytest.raises(ValueError, match="no table `none`: the tables are flows, "):
        small.table("none")
    with pytest.raises(KeyError, match="no column"):
        small.flows["fct"]


def test_times_are_exact_or_durations(small: sl.Result) -> None:
    flows = small.flows
    for start, finish, fct in zip(flows["start_ps"], flows["finish_ps"], flows["fct_ps"], strict=True):
        assert fct == finish - start
    assert ("fct_ps", "count", "ps") in [about[:3] for about in flows.about()]
    durations = flows.durations()
    assert {"start", "finish", "ideal", "fct"} < set(durations.columns)
    assert durations["fct"] == [(ps + 500) // 1000 for ps in flows["fct_ps"]]


def test_tables_are_those_of_the_files(small: sl.Result, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = small.save(tmp_path)
    for name in ("flows", "samples", "ports", "why"):
        stored = parquet.read_table(folder / f"{name}.parquet").to_pydict()
        ours = small.table(name)
        assert {column: ours[column] for column in stored} == stored


def test_pyarrow_shares_the_memory(small: sl.Result) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    first, again = pyarrow.table(small.flows), pyarrow.table(small.flows)
    for name in first.column_names:
        mine, other = (table[name].chunk(0).buffers() for table in (first, again))
        assert [it and it.address for it in mine] == [it and it.address for it in other]
    assert first.schema.field("fct_ps").metadata[b"unit"] == b"ps"
    assert pyarrow.types.is_duration(pyarrow.table(small.flows.durations())["fct"].type)
    assert pyarrow.table(small.metrics).num_rows == sum(map(len, small.metrics.values()))


def test_polars_shares_the_memory(small: sl.Result) -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("numpy")
    frame = polars.DataFrame(small.flows)
    address = pyarrow.table(small.flows)["finish_ps"].chunk(0).buffers()[1].address
    assert frame["finish_ps"].to_numpy(allow_copy=False).__array_interface__["data"][0] == address
    assert frame["fct_ps"].to_list() == small.flows["fct_ps"]
    median = polars.DataFrame(small.flows.durations()).group_by("scheme").agg(polars.col("fct").median())
    assert median.height == 2
