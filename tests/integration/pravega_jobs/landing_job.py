"""Landings into tables of each kind, as Spark and a driver make them, and all that may happen to such a table.

Run as a program, it lands once for each line of its input, each time in a fork that is killed at a step.
"""
# long because: one class for each kind of table, with all that may happen to it

import json
import os
import shutil
import sys
import uuid
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import obstore.store
import polars as pl
import psycopg2
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from pyarrow import parquet
from pyiceberg.catalog import load_catalog
from tests.faults.kill_calls import killed_at
from tests.faults.process import wait_until

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.ledger import Interval
from pravega_jobs.landing import Action, DeltaFolder, Iceberg, Landed, Landing, ParquetFolder, Postgres
from pravega_jobs.landing.local_rows import LocalRows
from pravega_jobs.landing.locations import store_location
from pravega_jobs.landing.partition_by import partitions_of
from pravega_jobs.landing.postgres import StagedCopy
from pravega_jobs.landing.postgres_copy import copy_batches
from pravega_jobs.landing.staged_files import StagedFiles, new_folder

STREAM = StreamName("shop", "orders")
CONSUMER = "it's"
# What changes something on a file system, or waits for a lock.
_FILE_CALLS = {"rename", "replace", "unlink", "mkdir", "rmdir", "flock", "write", "open"}


def landing(name: str = "monday", end: int = 10, generation: int = 1) -> Landing:
    """Of a range of one segment, of its own for each name."""
    segment, start = SegmentId(STREAM, 0, 0), 1000 * zlib.crc32(name.encode())
    cuts = StreamCutRange(StreamCut(STREAM, {segment: start}), StreamCut(STREAM, {segment: start + end}))
    return Landing(Interval(CONSUMER, STREAM, name), cuts, generation)


def rows(name: str, value: int) -> list[tuple[str, int]]:
    """The contents of a table that holds one interval with a value."""
    return [(name, 0), *[(name, value)] * 2]


class Lake(ABC):
    """A lake with tables of one kind."""

    # The functions of C at which a run is killed.
    calls: ClassVar[set[str]]
    # While an interval is replaced, a reader finds the older or the newer rows; else maybe none.
    replaces_in_one_step: ClassVar[bool] = True
    # A store has no locks, by which the next run would see that a run was killed.
    keeps_files_of_killed_runs: ClassVar[bool] = False

    def __init__(self, where: str) -> None:
        self.where = where

    @abstractmethod
    def table(self, name: str = "orders") -> Any:
        """The table of a name, which may exist or not."""

    @abstractmethod
    def staged(self, table: Any, one: Landing, value: int, type_: str = "int32") -> AbstractContextManager[Any]:
        """Three rows as Spark stages them, one of them with null."""

    @abstractmethod
    def found(self, table: Any) -> pa.Table:
        """The columns `_interval` and `id`, as any reader finds them."""

    @abstractmethod
    def remove_a_row(self, table: Any) -> None:
        """Remove the row with null, by the table's own means."""

    @abstractmethod
    def empty(self, table: Any) -> None:
        """Remove all rows, by the table's own means."""

    @abstractmethod
    def mark(self, table: Any) -> None:
        """Remember the table as it is, without its notes, if they are not in it."""

    @abstractmethod
    def take_back(self, table: Any) -> None:
        """Take the table back to how it was when it was marked."""

    @abstractmethod
    def drop(self, table: Any) -> None: ...

    @abstractmethod
    def rename(self, table: Any) -> Any:
        """The table under its new name."""

    @abstractmethod
    def back_up(self, table: Any) -> None: ...

    @abstractmethod
    def restore(self, table: Any) -> None:
        """Bring back the table as it was when it was backed up."""

    @abstractmethod
    def leftovers(self, table: Any) -> list[str]:
        """Rows that were staged and are not needed any more."""

    def settle(self) -> None:
        """Wait until nothing of killed runs is at work any more: at once, where no server works for them."""
        return

    def land(self, table: Any, one: Landing, value: int) -> Action:
        with self.staged(table, one, value) as rows:
            landed: Landed = table.commit(rows, one)
        return landed.action

    def contents(self, table: Any) -> list[tuple[str, int]]:
        """The interval and the value of each row, 0 for null."""
        return sorted((row["_interval"], row["id"] or 0) for row in self.found(table).to_pylist())


class FileLake(Lake):
    """A folder with tables of files."""

    calls = _FILE_CALLS

    @contextmanager
    def staged(self, table: Any, one: Landing, value: int, type_: str = "int32") -> Iterator[StagedFiles]:
        plain = pa.table({"id": pa.array([value, value, None], type_)})
        with self.staging(table, one, plain.schema) as folder:
            folder.mkdir()
            for number, part in enumerate((plain.slice(0, 2), plain.slice(2))):
                names = [one.interval.consumer] * part.num_rows, [one.interval.name] * part.num_rows
                whole = part.append_column("_consumer", [names[0]]).append_column("_interval", [names[1]])
                parquet.write_table(whole, folder / f"part-{number}.parquet")
            self.add_notes(folder, type_)
            yield StagedFiles.found_in(folder)

    @abstractmethod
    def staging(self, table: Any, one: Landing, schema: pa.Schema) -> AbstractContextManager[Path]: ...

    def add_notes(self, folder: Path, type_: str) -> None:
        """Write what is staged beside the rows."""

    def back_up(self, table: Any) -> None:
        shutil.copytree(self.where, f"{self.where}-backup")

    def restore(self, table: Any) -> None:
        shutil.rmtree(self.where)
        shutil.copytree(f"{self.where}-backup", self.where)

    def leftovers(self, table: Any) -> list[str]:
        return [each.name for each in Path(self.where).rglob("*") if each.name.startswith(("staged-", "old-"))]


class FolderLake(FileLake):
    """A folder with tables that are folders."""

    kind: ClassVar[type[Any]]

    def table(self, name: str = "orders") -> Any:
        return self.kind(f"{self.where}/{name}")

    def drop(self, table: Any) -> None:
        shutil.rmtree(table.path)

    def rename(self, table: Any) -> Any:
        renamed = self.table("renamed")
        Path(table.path).rename(renamed.path)
        return renamed


class RowsLake(Lake):
    """A lake whose rows are staged as `land` stages those of a table in this process."""

    # The partitions of its tables.
    partition_by: ClassVar[tuple[str, ...]] = ()

    @contextmanager
    def staged(self, table: Any, one: Landing, value: int, type_: str = "int32") -> Iterator[StagedFiles]:
        rows = LocalRows(pa.table({"id": pa.array([value, value, None], type_)}))
        with table.staged(rows, replace(one, partition_by=partitions_of(self.partition_by))) as staged:
            yield staged


class ParquetLake(FolderLake):
    kind = ParquetFolder
    replaces_in_one_step = False

    def staging(self, table: Any, one: Landing, schema: pa.Schema) -> AbstractContextManager[Path]:
        return new_folder(table._work)

    def add_notes(self, folder: Path, type_: str) -> None:
        (folder / "columns.json").write_text(json.dumps([["id", type_]]))

    def found(self, table: Any) -> pa.Table:
        found = ds.dataset(table.path, format="parquet", partitioning="hive").to_table()
        return found.select(["_interval", "id"]) if found.num_rows else pa.table({"_interval": [], "id": []})

    def remove_a_row(self, table: Any) -> None:
        next(table._standing.folder_of(landing()).glob("part-1*")).unlink()

    def empty(self, table: Any) -> None:
        for file in Path(table.path).glob("landing=*/*.parquet"):
            file.unlink()

    def mark(self, table: Any) -> None:
        shutil.copytree(table.path, f"{self.where}-marked", dirs_exist_ok=True)

    def take_back(self, table: Any) -> None:
        for folder in Path(table.path).glob("landing=*"):
            shutil.rmtree(folder)
        for folder in Path(f"{self.where}-marked").glob("landing=*"):
            shutil.copytree(folder, Path(table.path) / folder.name)


class DeltaLake(FolderLake):
    kind = DeltaFolder
    calls = _FILE_CALLS | {"create_write_transaction"}

    def staging(self, table: Any, one: Landing, schema: pa.Schema) -> AbstractContextManager[Path]:
        return new_folder(table.stored.work)

    def found(self, table: Any) -> pa.Table:
        return DeltaTable(table.path).to_pyarrow_table(columns=["_interval", "id"])

    def remove_a_row(self, table: Any) -> None:
        DeltaTable(table.path).delete("id is null")

    def empty(self, table: Any) -> None:
        DeltaTable(table.path).delete()

    def mark(self, table: Any) -> None:
        self.version = DeltaTable(table.path).version()

    def take_back(self, table: Any) -> None:
        DeltaTable(table.path).restore(self.version)


class DeltaPartsLake(RowsLake, DeltaLake):
    partition_by = ("id", "_interval")


class StoreObjects:
    """All objects below addresses in the store of the environment."""

    def objects(self, path: str) -> dict[str, bytes]:
        """All objects below a path, by their names there."""
        store = obstore.store.from_url(path, client_options={"allow_http": True})
        return {
            str(each["path"]): bytes(obstore.get(store, each["path"]).bytes())
            for some in obstore.list(store)
            for each in some
        }

    def replace_objects(self, path: str, objects: dict[str, bytes]) -> None:
        store = obstore.store.from_url(path, client_options={"allow_http": True})
        for name in self.objects(path):
            obstore.delete(store, name)
        for name, value in objects.items():
            obstore.put(store, name, value)


class DeltaStoreLake(StoreObjects, RowsLake, DeltaLake):
    """A prefix in the store of the environment, with Delta tables. Their files are compared with their logs."""

    calls: ClassVar[set[str]] = {"put", "open_writer", "write", "close", "create_write_transaction", "delete", "head"}
    keeps_files_of_killed_runs = True

    def drop(self, table: Any) -> None:
        self.replace_objects(table.path, {})

    def rename(self, table: Any) -> Any:
        renamed = self.table("renamed")
        self.replace_objects(renamed.path, self.objects(table.path))
        self.drop(table)
        return renamed

    def back_up(self, table: Any) -> None:
        self.saved = self.objects(table.path)

    def restore(self, table: Any) -> None:
        self.replace_objects(table.path, self.saved)

    def leftovers(self, table: Any) -> list[str]:
        found = self.objects(table.path)
        logs = b"".join(
            value for name, value in found.items() if name.startswith("_delta_log/") and name.endswith(".json")
        ).decode()
        return [name for name in found if name.startswith("landing-") and name not in logs]


class IcebergLake(FileLake):
    # Texts are replaced and written into buffers a hundred times, which changes nothing.
    calls = _FILE_CALLS - {"replace", "write"} | {"execute", "commit"}

    @property
    def properties(self) -> dict[str, str]:
        return {"type": "sql", "uri": f"sqlite:///{self.where}/catalog.db", "warehouse": f"file://{self.where}"}

    def make(self) -> None:
        """Make the catalog, and the namespace of the tables."""
        Path(self.where).mkdir(exist_ok=True)
        load_catalog("default", **self.properties).create_namespace("shop")

    def table(self, name: str = "orders") -> Iceberg:
        return Iceberg(f"shop.{name}", properties=self.properties)

    @contextmanager
    def staging(self, table: Any, one: Landing, schema: pa.Schema) -> Iterator[Path]:
        with table.new_staging(schema, one) as (location, _):
            yield location.path

    def found(self, table: Any) -> pa.Table:
        return table.load().scan(selected_fields=("_interval", "id")).to_arrow()

    def remove_a_row(self, table: Any) -> None:
        table.load().delete("id is null")

    def empty(self, table: Any) -> None:
        table.load().delete()

    def mark(self, table: Any) -> None:
        self.snapshot = table.load().current_snapshot().snapshot_id

    def take_back(self, table: Any) -> None:
        with table.load().manage_snapshots() as snapshots:
            snapshots.rollback_to_snapshot(self.snapshot)

    def drop(self, table: Any) -> None:
        load_catalog("default", **self.properties).drop_table(table.identifier)

    def rename(self, table: Any) -> Any:
        renamed = self.table("renamed")
        load_catalog("default", **self.properties).rename_table(table.identifier, renamed.identifier)
        return renamed


class IcebergStoreLake(StoreObjects, RowsLake, IcebergLake):
    """A catalog on the disk, whose tables are in the store of the environment.

    The lake is named by the folder of the catalog, `#` and the address.
    """

    calls: ClassVar[set[str]] = {"put", "open_writer", "close", "delete", "head", "execute", "commit"}
    keeps_files_of_killed_runs = True

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.folder, _, self.address = where.rpartition("#")

    @property
    def properties(self) -> dict[str, str]:
        # pyiceberg does not take them from the environment.
        if self.address.startswith("abfss:"):
            store = {"adls.connection-string": os.environ["AZURE_STORAGE_CONNECTION_STRING"]}
        else:
            store = {"s3.endpoint": os.environ["AWS_ENDPOINT_URL"], "s3.region": "us-east-1"}
        return {"type": "sql", "uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": self.address, **store}

    def make(self) -> None:
        Path(self.folder).mkdir(exist_ok=True)
        load_catalog("default", **self.properties).create_namespace("shop")

    def back_up(self, table: Any) -> None:
        self.saved = self.objects(self.address)
        shutil.copytree(self.folder, f"{self.folder}-backup")

    def restore(self, table: Any) -> None:
        self.replace_objects(self.address, self.saved)
        shutil.copytree(f"{self.folder}-backup", self.folder, dirs_exist_ok=True)

    def leftovers(self, table: Any) -> list[str]:
        known = set(table.load().inspect.all_files()["file_path"].to_pylist())
        data = store_location(f"{table.load().location()}/data")
        return [name for name in data.names() if data.file(name) not in known]


class IcebergPartsLake(RowsLake, IcebergLake):
    partition_by = ("bucket(4, id)", "truncate(3, _interval)", "id")


class PostgresLake(Lake):
    """A schema with tables; the lake is named by the address of the database, `#` and the schema."""

    calls: ClassVar[set[str]] = {"execute", "copy_expert", "_connect", "rollback", "__exit__", "close"}

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.dsn, _, self.schema = where.rpartition("#")

    def settle(self) -> None:
        """Wait until the server has noticed that killed runs are gone, and has let their locks go."""
        asked = "select count(*) from pg_locks where locktype = 'advisory'"
        wait_until(lambda: self.ask(asked) == [(0,)], lambda: "locks of killed runs stay", every=0.05)

    def make(self) -> None:
        """Make the schema."""
        self.ask(f"create schema {self.schema}; select 1")

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with closing(psycopg2.connect(self.dsn)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def table(self, name: str = "orders") -> Postgres:
        return Postgres(self.dsn, f"{self.schema}.{name}")

    @contextmanager
    def staged(self, table: Any, one: Landing, value: int, type_: str = "int32") -> Iterator[StagedCopy]:
        """One task has the rows, and its first try does not count."""
        batch = pa.RecordBatch.from_pydict({"id": pa.array([value, value, None], type_)})
        with table.new_staging({"id": "integer"}, one) as (connection, staging, columns):
            tries = [copy_batches(iter([batch]), table.dsn, staging, ("id",)) for _ in range(2)]
            yield StagedCopy(connection, staging, columns, (tries[1],))

    def found(self, table: Any) -> pa.Table:
        found = self.ask(f"select _interval, id from {table.table}")
        return pa.table({"_interval": [name for name, _ in found], "id": [id_ for _, id_ in found]})

    def remove_a_row(self, table: Any) -> None:
        self.ask(f"delete from {table.table} where id is null; select 1")

    def empty(self, table: Any) -> None:
        self.ask(f"truncate {table.table}; select 1")

    def mark(self, table: Any) -> None:
        self.ask(f"create table {table.table}_marked as table {table.table}; select 1")

    def take_back(self, table: Any) -> None:
        """As a restore of this table alone from a dump."""
        self.drop(table)
        self.ask(f"alter table {table.table}_marked rename to {table.table.rpartition('.')[2]}; select 1")

    def drop(self, table: Any) -> None:
        self.ask(f"drop table {table.table}; select 1")

    def rename(self, table: Any) -> Any:
        self.ask(f"alter table {table.table} rename to renamed; select 1")
        return self.table("renamed")

    def back_up(self, table: Any) -> None:
        for name in (table.table, f"{self.schema}.pravega_landings"):
            self.ask(f"create table {name}_backup as table {name}; select 1")

    def restore(self, table: Any) -> None:
        for name in (table.table, f"{self.schema}.pravega_landings"):
            self.ask(f"truncate {name}; insert into {name} table {name}_backup; select 1")

    def leftovers(self, table: Any) -> list[str]:
        found = self.ask(
            f"select tablename from pg_tables where schemaname = '{self.schema}' and tablename like 'pravega_staged%'"
        )
        return [name for (name,) in found]


# The fixtures of stores.
STORES = ("s3", "seaweedfs", "azurite")
LAKES: dict[str, type[Any]] = {
    "parquet": ParquetLake,
    "delta": DeltaLake,
    "delta-parts": DeltaPartsLake,
    **{f"delta-{store}": DeltaStoreLake for store in STORES},
    "iceberg": IcebergLake,
    **{f"iceberg-{store}": IcebergStoreLake for store in STORES},
    "iceberg-parts": IcebergPartsLake,
    "postgres": PostgresLake,
}


# Stores of other kinds than moto's, which `make proofs` has.
OTHER_STORES = [
    pytest.param(f"{format_}-{store}", marks=pytest.mark.slow)
    for store in STORES[1:]
    for format_ in ("delta", "iceberg")
]


def new_lake(kind: str, where: str) -> Any:
    """A lake that shares nothing with another one; of PostgreSQL in a schema of its own of the database `where`."""
    lake = LAKES[kind](f"{where}#s{uuid.uuid4().hex}" if kind == "postgres" else where)
    if hasattr(lake, "make"):
        lake.make()
    return lake


def where_of(kind: str, given: Callable[[str], Any]) -> str:
    """The text that names a lake of a kind, with `*` for a name of its own; that of PostgreSQL has none.

    Args:
        kind: the kind.
        given: gives fixtures of a test by their names; a store is in the environment from then on.
    """
    if kind == "postgres":
        return str(given("postgres_dsn"))
    format_, _, store = kind.partition("-")
    folder = f"{given('tmp_path')}/*"
    if store not in STORES:
        return folder
    prefix = f"{given(store)}/*"
    return prefix if format_ == "delta" else f"{folder}#{prefix}"


def new_table(kind: str, folder: Path | str, *, make: bool = True) -> Any:
    """A table of files that shares nothing with another one; `make` makes its catalog. `folder` names its lake."""
    lake = new_lake(kind, str(folder)) if make else LAKES[kind](str(folder))
    return lake.table()


def land(table: Any, one: Landing, value: int) -> Action:
    """Land into a table of Delta or Iceberg."""
    lake: Any = (DeltaLake if isinstance(table, DeltaFolder) else IcebergLake)("")
    action: Action = lake.land(table, one, value)
    return action


def read_by_polars(table: Any) -> pl.LazyFrame:
    """The rows of a table of Delta or Iceberg, as Polars reads them."""
    if isinstance(table, DeltaFolder):
        # Else Polars asks Azure's own library for keys, which does not take those of the environment.
        return pl.scan_delta(table.path, credential_provider=None if table.path.startswith("abfss:") else "auto")
    loaded = table.load()
    # Polars does not know the properties by which pyiceberg finds a server that plays Azure.
    return pl.scan_iceberg(loaded, reader_override="pyiceberg" if loaded.location().startswith("abfss:") else None)


def main(kind: str) -> None:
    """Land for each line of the input, JSON with the lake, the generation and the step at which the run is killed."""
    for line in sys.stdin:
        where, generation, step = json.loads(line)
        lake = LAKES[kind](where)
        work = partial(lake.land, lake.table(), landing(generation=generation), 2)
        print(killed_at(work, lake.calls, step), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
