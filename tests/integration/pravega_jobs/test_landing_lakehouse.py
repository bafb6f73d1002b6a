"""Tables of Delta and Iceberg whose files are rewritten, whose snapshots expire, or whose catalog gives no answer.

What they have in common with other tables is in `test_landing_contract`.
"""

import shutil
import time
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitStateUnknownException, ServiceUnavailableError, UnauthorizedError
from tests.integration.pravega_jobs.landing_job import DeltaLake, IcebergLake, landing, new_lake, rows

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import Action, Iceberg
from pravega_jobs.landing.parquet import local_path


@pytest.fixture
def delta(tmp_path) -> DeltaLake:
    return DeltaLake(f"{tmp_path}/lake")


@pytest.fixture
def iceberg(tmp_path) -> IcebergLake:
    lake: IcebergLake = new_lake("iceberg", f"{tmp_path}/lake")
    return lake


def test_delta_keeps_holdings_after_files_are_rewritten_and_logs_cleaned(delta):
    table = delta.table()
    for name in ("monday", "sunday"):
        delta.land(table, landing(name), 1)
    written = DeltaTable(table.path)
    assert written.optimize.compact()["numFilesRemoved"] == 4
    written.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    written.create_checkpoint()
    assert {each.interval for each in table.holdings()} == {"monday", "sunday"}
    assert delta.land(table, landing("monday"), 2) is Action.NOTHING
    assert delta.land(table, landing("monday", generation=2), 2) is Action.REPLACE
    assert delta.contents(table) == rows("monday", 2) + rows("sunday", 1)


def test_delta_restored_to_a_time_or_to_its_newest_version_is_understood(delta):
    table = delta.table()
    delta.land(table, landing("sunday"), 1)
    time.sleep(0.002)  # commits have times in milliseconds
    before = datetime.now(UTC)
    delta.land(table, landing("monday"), 2)
    newest = DeltaTable(table.path).version()
    DeltaTable(table.path).restore(before)
    assert [each.interval for each in table.holdings()] == ["sunday"]
    delta.land(table, landing("tuesday"), 3)
    assert {each.interval for each in table.holdings()} == {"sunday", "tuesday"}
    DeltaTable(table.path).restore(newest)
    assert {each.interval for each in table.holdings()} == {"sunday", "monday"}
    assert delta.land(table, landing("monday"), 4) is Action.NOTHING
    assert delta.contents(table) == rows("monday", 2) + rows("sunday", 1)


def test_delta_whose_log_was_cleaned_keeps_holdings_unless_undone(delta):
    table = delta.table()
    for name in ("sunday", "monday", "tuesday"):
        delta.land(table, landing(name), 1)
    DeltaTable(table.path).restore(2)
    written = DeltaTable(table.path)
    written.create_checkpoint()
    log = local_path(table.path) / "_delta_log"
    for version in (0, 1):
        (log / f"{version:020}.json").unlink()
    assert {each.interval for each in table.holdings()} == {"sunday", "monday"}
    for version in (2, 3):
        (log / f"{version:020}.json").unlink()
    assert table.rows() == {("it's", "sunday"): 3, ("it's", "monday"): 3}
    with pytest.raises(LandingError, match="3 rows of it were landed.*0 are in the table"):
        delta.land(table, landing("tuesday"), 2)
    assert delta.land(table, landing("sunday"), 2) is Action.NOTHING


@pytest.mark.parametrize("in_its_log", [True, False])
def test_delta_made_again_in_the_folder_with_the_notes_holds_nothing(delta, in_its_log):
    table = delta.table()
    delta.land(table, landing(), 1)
    first, schema = table.identity(), DeltaTable(table.path).schema()
    if in_its_log:
        DeltaTable.create(table.path, schema, mode="overwrite")
    else:
        for each in local_path(table.path).iterdir():
            if each.name != "_landing":
                shutil.rmtree(each)
        DeltaTable.create(table.path, schema)
    assert (table.holdings(), table.is_target(first)) == ([], False)
    assert delta.land(table, landing(), 2) is not Action.NOTHING
    assert delta.contents(table) == rows("monday", 2)


def test_delta_and_iceberg_keep_holdings_of_rows_that_others_rewrite(delta, iceberg):
    for lake in (delta, iceberg):
        table = lake.table()
        lake.land(table, landing(), 1)
        lake.land(table, landing("sunday"), 1)
    DeltaTable(delta.table().path).optimize.compact()
    for lake in (delta, iceberg):
        assert lake.land(lake.table(), landing(), 2) is Action.NOTHING


def test_delta_without_its_notes_refuses_what_it_holds(delta):
    table = delta.table()
    delta.land(table, landing(), 1)
    for note in table.stored.work.glob("*.json"):
        note.unlink()
    with pytest.raises(LandingError, match="has no note of its range"):
        delta.land(table, landing(), 1)


def test_delta_tables_whose_files_spark_cannot_write_alone_are_refused(delta):
    other = delta.table("other")
    delta.land(other, landing("sunday"), 1)
    DeltaTable(other.path).alter.add_constraint({"small": "id is null or id < 5"})
    with pytest.raises(LandingError, match="delta.constraints.small"):
        delta.land(other, landing(), 7)
    assert delta.contents(other) == rows("sunday", 1)


def test_iceberg_keeps_holdings_in_snapshots_when_old_snapshots_expire(iceberg):
    table = iceberg.table()
    iceberg.land(table, landing("sunday"), 1)
    [snapshot] = table.load().snapshots()
    assert '"interval":"sunday"' in snapshot.summary["pravega.landing"]
    iceberg.land(table, landing("monday"), 2)
    table.load().maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    assert iceberg.land(table, landing("sunday"), 3) is Action.NOTHING
    assert iceberg.contents(table) == rows("monday", 2) + rows("sunday", 1)


def test_iceberg_tables_have_a_namespace_that_exists(tmp_path):
    with pytest.raises(ConfigurationError, match="namespace.table"):
        Iceberg("orders")
    lake = IcebergLake(str(tmp_path))
    table = Iceberg("none.orders", properties=lake.properties)
    with pytest.raises(LandingError, match="cannot be made"), lake.staged(table, landing(), 1):
        pass


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_without_an_answer_is_found_out(iceberg, monkeypatch, is_done):
    table = iceberg.table()
    commit_table = SqlCatalog.commit_table
    lost: list[object] = []

    def lose_one_answer(catalog, *args):
        if lost:
            return commit_table(catalog, *args)
        lost.append(commit_table(catalog, *args) if is_done else None)
        raise CommitStateUnknownException("the connection broke")

    iceberg.land(table, landing("sunday"), 9)
    monkeypatch.setattr(SqlCatalog, "commit_table", lose_one_answer)
    assert iceberg.land(table, landing(), 1) is Action.APPEND
    assert len(lost) == 1
    assert iceberg.contents(table) == rows("monday", 1) + rows("sunday", 9)


@pytest.mark.parametrize(("error", "passes"), [(ServiceUnavailableError, True), (UnauthorizedError, False)])
def test_a_catalog_that_refuses_is_reported(iceberg, monkeypatch, error, passes):
    table = iceberg.table()

    def refuse(*_):
        raise error("no")

    monkeypatch.setattr(SqlCatalog, "load_table", refuse)
    with pytest.raises(LandingError, match=r"did not answer for shop\.orders") as caught:
        table.holdings()
    assert caught.value.retryable is passes
