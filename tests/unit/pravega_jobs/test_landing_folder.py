"""A folder of Parquet files: whatever is killed, repeated, or run at once, each interval is there once, and whole."""

import json
import threading
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import parquet
from tests.faults.kill_calls import killed_at

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import LandingError
from aiopravega.ledger import Interval
from pravega_jobs.landing import Action, Landing, ParquetFolder
from pravega_jobs.landing.staged_files import StagedFiles, new_folder

STREAM = StreamName("shop", "orders")
# What changes something on a file system, or waits for a lock.
CALLS = {"rename", "replace", "unlink", "mkdir", "rmdir", "flock", "write", "open"}


def landing(name="monday", end=10, generation=1):
    segment = SegmentId(STREAM, 0, 0)
    cuts = StreamCutRange(StreamCut(STREAM, {segment: 0}), StreamCut(STREAM, {segment: end}))
    return Landing(Interval("consumer", STREAM, name), cuts, generation)


@contextmanager
def staged(table, one, value, columns="id int"):
    """Two files of three rows in all, as Spark writes them."""
    with new_folder(table._work) as folder:
        folder.mkdir()
        for number, rows in enumerate((2, 1)):
            names = {"_consumer": ["consumer"] * rows, "_interval": [one.interval.name] * rows}
            parquet.write_table(pa.table({"id": [value] * rows, **names}), folder / f"part-{number}.parquet")
        (folder / "_SUCCESS").touch()
        (folder / "columns.json").write_text(json.dumps([columns.split()]))
        yield StagedFiles.found_in(folder)


def land(table, one, value):
    with staged(table, one, value) as files:
        return table.commit(files, one).action


def rows(table):
    """What any reader of Parquet finds."""
    found = ds.dataset(table.path, format="parquet", partitioning="hive").to_table()
    return sorted(zip(found["_interval"].to_pylist(), found["id"].to_pylist(), strict=True)) if found.num_rows else []


@pytest.fixture
def table(tmp_path):
    return ParquetFolder(f"{tmp_path}/table")


def test_an_interval_is_landed_once_and_replaced_by_its_newer_generation_only(table):
    assert table.holdings() == []
    assert [land(table, landing("monday"), 1), land(table, landing("sunday"), 2)] == [Action.APPEND] * 2
    assert land(table, landing("monday"), 3) is Action.NOTHING
    assert land(table, landing("monday", generation=2), 4) is Action.REPLACE
    for refused in (landing("monday"), landing("monday", end=11, generation=2)):
        with pytest.raises(LandingError):
            land(table, refused, 5)
    assert rows(table) == [("monday", 4)] * 3 + [("sunday", 2)] * 3
    assert {(each.interval, each.generation, each.rows) for each in table.holdings()} == {
        ("monday", 2, 3),
        ("sunday", 1, 3),
    }
    assert table.rows() == {("consumer", "monday"): 3, ("consumer", "sunday"): 3}


@pytest.mark.parametrize("generation", [1, 2])
def test_a_run_that_is_killed_at_any_step_leaves_all_or_nothing_and_the_next_one_completes_it(tmp_path, generation):
    """Generation 2 replaces rows: in between none of them may be there, but never those of both."""
    before = [("monday", 1)] * 3 if generation > 1 else []
    for step in range(1000):
        table = ParquetFolder(f"{tmp_path}/{step}")
        land(table, landing("sunday"), 0)
        others = [("sunday", 0)] * 3
        if before:
            land(table, landing("monday"), 1)
        one = landing("monday", generation=generation)
        killed = killed_at(partial(land, table, one, 2), CALLS, step)
        assert rows(table) in ([*before, *others], others, [*[("monday", 2)] * 3, *others])
        land(table, one, 2)
        assert rows(table) == [*[("monday", 2)] * 3, *others]
        assert [each.name for each in table._work.iterdir() if each.name not in {"lock", "columns.json"}] == []
        if not killed:
            break
    assert step > 30


def test_of_two_runs_of_one_interval_at_once_one_lands(table):
    actions, start = [], threading.Barrier(4)

    def run(value):
        with staged(table, landing(), value) as files:
            start.wait()
            actions.append(table.commit(files, landing()).action)

    threads = [threading.Thread(target=run, args=(value,)) for value in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(actions) == [Action.APPEND, *[Action.NOTHING] * 3]
    assert len(set(rows(table))) == 1
    assert len(rows(table)) == 3


def test_a_run_that_started_with_an_older_generation_does_not_replace_a_newer_one(table):
    with staged(table, landing(), 1) as files:
        land(table, landing(generation=2), 2)
        with pytest.raises(LandingError, match="generation 2"):
            table.commit(files, landing())
    assert rows(table) == [("monday", 2)] * 3


def test_other_columns_are_refused(table):
    land(table, landing("sunday"), 1)
    with staged(table, landing(), 1, "id bigint") as files, pytest.raises(LandingError, match="id bigint"):
        table.commit(files, landing())
    assert rows(table) == [("sunday", 1)] * 3


def test_rows_that_somebody_removed_are_missed(table):
    land(table, landing(), 1)
    next(table._folder(landing()).glob("part-0*")).unlink()
    assert table.rows() == {("consumer", "monday"): 1}
