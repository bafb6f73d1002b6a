"""Upkeep of tables that others made or tagged, and tables that have none."""

import json
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.integration.pravega_jobs.landing_job import landing, new_lake
from tests.integration.pravega_jobs.upkeep_job import kept_up

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.iceberg_catalog import open_catalog
from pravega_jobs.upkeep import keep_up


def test_an_iceberg_table_of_others_keeps_its_partitions_names_and_tags(tmp_path):
    named = new_lake("iceberg", str(tmp_path / "0")).table()
    columns = pa.schema([pa.field("day", pa.int32(), nullable=False), ("old", pa.string())])
    table = open_catalog(named.catalog, named.properties).create_table(named.identifier, columns)
    with table.update_spec() as spec:
        spec.add_identity("day")
    for value in range(4):
        table.append(pa.table([[1, 2], [f"v{value}", None]], columns))
    newest = table.metadata.current_snapshot_id
    assert newest is not None
    table.manage_snapshots().create_tag(newest, "month").commit()
    with table.update_schema() as schema:
        schema.rename_column("old", "new")
    table.append(pa.table([[1, 1], ["v4", "v5"]], columns.set(1, pa.field("new", pa.string()))))
    before = sorted(named.load().scan().to_arrow().to_pylist(), key=str)
    done = kept_up(named)
    assert (done.compacted_files, done.new_files, done.expired_snapshots) == (9, 2, 3)
    files = named.load().inspect.files()
    assert sorted(each["day"] for each in files["partition"].to_pylist()) == [1, 2]
    assert sorted(named.load().scan().to_arrow().to_pylist(), key=str) == before
    assert named.load().scan(row_filter="day = 2").count() == 4
    month = named.load().snapshot_by_name("month")
    assert named.load().scan(snapshot_id=month.snapshot_id).to_arrow().num_rows == 8


def test_a_tag_on_a_landing_keeps_the_holdings_of_all_before_it(tmp_path):
    lake = new_lake("iceberg", str(tmp_path / "0"))
    table = lake.table()
    for number in range(6):
        lake.land(table, landing(f"day {number}"), number)
    third = table.load().snapshots()[2].snapshot_id
    table.load().manage_snapshots().create_tag(third, "month").commit()
    held = table.holdings()
    assert kept_up(table).expired_snapshots == 2
    assert table.holdings() == held
    table.load().manage_snapshots().remove_tag("month").commit()
    assert kept_up(table).expired_snapshots > 0
    assert table.holdings() == held


def test_parts_of_formats_that_are_not_understood_are_refused_by_name(tmp_path):
    lake = new_lake("delta", str(tmp_path / "delta"))
    lake.land(lake.table(), landing(), 1)
    features = ["deletionVectors", "appendOnly"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features[:1],
        "writerFeatures": features,
    }
    log = Path(lake.table().path) / "_delta_log" / f"{DeltaTable(lake.table().path).version() + 1:020}.json"
    log.write_text(json.dumps({"protocol": protocol}))
    with pytest.raises(ConfigurationError, match=r"deletionVectors.*OPTIMIZE and VACUUM of Spark"):
        kept_up(lake.table())
    lake = new_lake("iceberg", str(tmp_path / "iceberg"))
    lake.land(lake.table(), landing(), 1)
    newer = json.loads(Path(lake.table().load().metadata_location.removeprefix("file://")).read_text())
    file = tmp_path / "00000-newer.metadata.json"
    file.write_text(json.dumps(newer | {"format-version": 3, "next-row-id": 0}))
    open_catalog(lake.table().catalog, lake.table().properties).register_table("shop.newer", f"file://{file}")
    with pytest.raises(ConfigurationError, match=r"version 3 of the format.*rewrite_data_files"):
        kept_up(lake.table("newer"))


def test_kinds_without_an_upkeep_and_tables_that_are_missing_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"folder for each interval.*delta:/folder or iceberg:catalog"):
        keep_up(f"parquet:{tmp_path}")
    with pytest.raises(ConfigurationError, match=r"by VACUUM.*delta:/folder or iceberg:catalog"):
        keep_up("postgresql://ada@db/lake#orders")
    with pytest.raises(ConfigurationError, match="no Delta table"):
        keep_up(f"delta:{tmp_path}/none")
    with pytest.raises(ConfigurationError, match="keep="):
        keep_up(f"delta:{tmp_path}/none", keep=timedelta(seconds=-1))
    assert not (tmp_path / "none").exists()
