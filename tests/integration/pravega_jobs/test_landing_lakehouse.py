"""Real tables of Delta and Iceberg: whatever is repeated, rewritten, or run at once, an interval is there once."""

import threading

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitStateUnknownException, ServiceUnavailableError, UnauthorizedError
from tests.integration.pravega_jobs.landing_job import contents, land, landing, new_table, rows, staged

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import Action, DeltaFolder, Iceberg


@pytest.fixture(params=["delta", "iceberg"])
def make_table(request, tmp_path):
    """Makes new tables, none of which shares anything with another."""

    def make(name="0"):
        return new_table(request.param, tmp_path / name)

    return make


def test_an_interval_is_landed_once_and_replaced_by_its_newer_generation_only(make_table):
    table = make_table()
    assert (table.holdings(), table.rows()) == ([], {})
    assert [land(table, landing("monday"), 1), land(table, landing("sunday"), 2)] == [Action.APPEND] * 2
    assert land(table, landing("monday"), 3) is Action.NOTHING
    assert land(table, landing("monday", generation=2), 4) is Action.REPLACE
    for refused in (landing("monday"), landing("monday", end=11, generation=2)):
        with pytest.raises(LandingError):
            land(table, refused, 5)
    assert contents(table) == rows("monday", 4) + rows("sunday", 2)
    assert {(each.interval, each.generation, each.rows) for each in table.holdings()} == {
        ("monday", 2, 3),
        ("sunday", 1, 3),
    }
    assert table.rows() == {("it's", "monday"): 3, ("it's", "sunday"): 3}


def test_of_two_runs_of_one_interval_at_once_one_lands(make_table):
    table, actions, start = make_table(), [], threading.Barrier(4)
    land(table, landing("sunday"), 9)

    def run(value):
        with staged(table, landing(), value) as files:
            start.wait()
            actions.append(table.commit(files, landing()).action)

    threads = [threading.Thread(target=run, args=(value,)) for value in range(1, 5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(actions) == [Action.APPEND, *[Action.NOTHING] * 3]
    assert len(contents(table)) == 6


def test_runs_of_several_intervals_at_once_all_land(make_table):
    table, start = make_table(), threading.Barrier(4)
    land(table, landing("sunday"), 9)
    actions = []

    def run(name):
        with staged(table, landing(name), 1) as files:
            start.wait()
            actions.append(table.commit(files, landing(name)).action)

    threads = [threading.Thread(target=run, args=(f"day {number}",)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert actions == [Action.APPEND] * 4
    assert table.rows() == {("it's", name): 3 for name in ("sunday", "day 0", "day 1", "day 2", "day 3")}


def test_a_run_that_started_with_an_older_generation_does_not_replace_a_newer_one(make_table):
    table = make_table()
    with staged(table, landing(), 1) as files:
        land(table, landing(generation=2), 2)
        with pytest.raises(LandingError, match="generation 2"):
            table.commit(files, landing())
    assert contents(table) == rows("monday", 2)


def test_other_columns_are_refused(make_table):
    table = make_table()
    land(table, landing("sunday"), 1)
    with pytest.raises(LandingError, match="has the columns"), staged(table, landing(), 1, "int64") as files:
        table.commit(files, landing())
    assert contents(table) == rows("sunday", 1)
    assert len(table.holdings()) == 1


def test_delta_keeps_what_it_holds_when_files_are_rewritten_and_the_log_is_cleaned(tmp_path):
    table = DeltaFolder(f"{tmp_path}/table")
    for name in ("monday", "sunday"):
        land(table, landing(name), 1)
    written = DeltaTable(table.path)
    assert written.optimize.compact()["numFilesRemoved"] == 4
    written.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    written.create_checkpoint()
    assert {each.interval for each in table.holdings()} == {"monday", "sunday"}
    assert land(table, landing("monday"), 2) is Action.NOTHING
    assert land(table, landing("monday", generation=2), 2) is Action.REPLACE
    assert contents(table) == rows("monday", 2) + rows("sunday", 1)


def test_delta_without_its_notes_refuses_what_it_holds(tmp_path):
    table = DeltaFolder(f"{tmp_path}/table")
    land(table, landing(), 1)
    for note in table.notes.work.glob("*.json"):
        note.unlink()
    with pytest.raises(LandingError, match="has no note of its range"):
        land(table, landing(), 1)


def test_delta_tables_whose_files_spark_cannot_write_alone_are_refused(tmp_path):
    table = DeltaFolder(f"{tmp_path}/table")
    columns = {name: pa.array(["x"]) for name in ("_consumer", "_interval")}
    write_deltalake(table.path, pa.table({"id": pa.array([1], "int32"), **columns}), partition_by=["_interval"])
    with pytest.raises(LandingError, match="partitions"):
        land(table, landing(), 1)
    other = DeltaFolder(f"{tmp_path}/other")
    land(other, landing("sunday"), 1)
    DeltaTable(other.path).alter.add_constraint({"small": "id is null or id < 5"})
    with pytest.raises(LandingError, match="delta.constraints.small"):
        land(other, landing(), 7)
    assert contents(other) == rows("sunday", 1)


def test_iceberg_keeps_what_it_holds_when_snapshots_expire_and_says_it_in_the_snapshot(make_table):
    table = make_table()
    if isinstance(table, DeltaFolder):
        return
    land(table, landing("sunday"), 1)
    [snapshot] = table.load().snapshots()
    assert '"interval":"sunday"' in snapshot.summary["pravega.landing"]
    land(table, landing("monday"), 2)
    table.load().maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    assert land(table, landing("sunday"), 3) is Action.NOTHING
    assert contents(table) == rows("monday", 2) + rows("sunday", 1)


def test_iceberg_tables_have_a_namespace_that_exists(tmp_path):
    with pytest.raises(ConfigurationError, match="namespace.table"):
        Iceberg("orders")
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    table = Iceberg("none.orders", properties=properties)
    with pytest.raises(LandingError, match="cannot be made"), staged(table, landing(), 1):
        pass


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_without_an_answer_is_found_out(tmp_path, monkeypatch, is_done):
    table = new_table("iceberg", tmp_path / "0")
    commit_table = SqlCatalog.commit_table
    lost: list[object] = []

    def lose_one_answer(catalog, *args):
        if lost:
            return commit_table(catalog, *args)
        lost.append(commit_table(catalog, *args) if is_done else None)
        raise CommitStateUnknownException("the connection broke")

    land(table, landing("sunday"), 9)
    monkeypatch.setattr(SqlCatalog, "commit_table", lose_one_answer)
    assert land(table, landing(), 1) is Action.APPEND
    assert len(lost) == 1
    assert contents(table) == rows("monday", 1) + rows("sunday", 9)


@pytest.mark.parametrize(("error", "passes"), [(ServiceUnavailableError, True), (UnauthorizedError, False)])
def test_a_catalog_that_refuses_is_reported(tmp_path, monkeypatch, error, passes):
    table = new_table("iceberg", tmp_path / "0")

    def refuse(*_):
        raise error("no")

    monkeypatch.setattr(SqlCatalog, "load_table", refuse)
    with pytest.raises(LandingError, match=r"did not answer for shop\.orders") as caught:
        table.holdings()
    assert caught.value.retryable is passes
