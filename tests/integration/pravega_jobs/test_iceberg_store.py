"""Tables of Iceberg whose files are in S3, as moto plays it: other readers, and files of killed runs."""

from pathlib import Path

import polars as pl
import pytest
from tests.integration.pravega_jobs.landing_job import IcebergStoreLake, landing, new_lake, rows

from pravega_jobs.landing import Action


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
