"""Tables of Iceberg whose files are in S3, as moto plays it: other readers, and files of killed runs."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from tests.integration.pravega_jobs.landing_job import IcebergStoreLake, landing, new_lake, rows
from tests.system.servers import free_ports

from aiopravega.errors import TableUnavailableError
from pravega_jobs.landing import Action, Iceberg
from pravega_jobs.landing.local_rows import LocalRows


@pytest.fixture
def lake(tmp_path: Path, s3: str) -> IcebergStoreLake:
    made: IcebergStoreLake = new_lake("iceberg-s3", f"{tmp_path}/catalog#{s3}")
    return made


@pytest.mark.parametrize("partition_by", [(), ("bucket(4, id)", "_interval")])
def test_another_reader_finds_the_rows_that_are_in_a_store(lake, monkeypatch, partition_by):
    monkeypatch.setattr(IcebergStoreLake, "partition_by", partition_by)
    table = lake.table()
    assert lake.land(table, landing(), 1) is Action.APPEND
    assert lake.land(table, landing(generation=2), 4) is Action.REPLACE
    found = pl.scan_iceberg(table.load()).select("_interval", "id").collect()
    assert sorted((interval, number or 0) for interval, number in found.rows()) == rows("monday", 4)


# The library of Azure tries for more than a minute.
@pytest.mark.slow
def test_an_azure_that_cannot_be_reached_is_an_error_that_may_pass(tmp_path):
    made = new_lake("iceberg", str(tmp_path / "lake"))
    store = f"AccountName=a;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:{free_ports(1)[0]}/a;"
    own = {
        **made.properties,
        "warehouse": "abfss://lake@a.dfs.core.windows.net/w",
        "adls.connection-string": f"DefaultEndpointsProtocol=http;{store}",
    }
    table = Iceberg("shop.orders", properties=own)
    with (
        pytest.raises(TableUnavailableError, match="did not answer for shop.orders: ServiceRequestError") as raised,
        table.staged(LocalRows(pa.table({"id": [1]})), landing()),
    ):
        pass
    assert "a2V5" not in str(raised.value)


def test_files_of_a_killed_run_go_once_nobody_can_commit_them(lake):
    table = lake.table()
    for generation in (1, 2):
        with lake.staged(table, landing(generation=generation), 9) as killed:
            killed.location.taken(killed.location)  # so it is not removed, as after a kill
    assert len(lake.leftovers(table)) == 2
    assert lake.land(table, landing(), 1) is Action.APPEND
    [later] = lake.leftovers(table)
    assert later.rpartition("/")[0].rpartition("/")[2].startswith("2-")
    assert lake.land(table, landing(generation=2), 2) is Action.REPLACE
    assert lake.leftovers(table) == []
    assert lake.contents(table) == rows("monday", 2)


def test_files_of_a_run_that_lost_are_gone(lake):
    table = lake.table()
    with lake.staged(table, landing(), 1) as late:
        lake.land(table, landing(), 2)
        assert table.commit(late, landing()).action is Action.NOTHING
    with pytest.raises(KeyError), lake.staged(table, landing("sunday"), 3):
        raise KeyError
    assert lake.leftovers(table) == []
    assert lake.contents(table) == rows("monday", 2)
