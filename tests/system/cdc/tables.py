"""The two tables: as Spark is to read them, as the database has them, and cuts of their streams after a mark."""

import json
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from tests.faults.process import wait_until
from tests.system.cdc.debezium import PREFIX, Debezium
from tests.system.cdc.load import MARKS

from aiopravega import PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.wire import EVENT_HEADER
from pyspark_pravega.cdc import current

SEGMENTS: Final = 4
_ABOUT: Final = (
    "_change_type string, _sequence binary, _unchanged array<string>, _op string, _snapshot string, "
    "_ingested_at timestamp"
)


@dataclass(frozen=True)
class Table:
    """A table of the database."""

    name: str
    key: tuple[str, ...]
    columns: str
    marked: str  # the column that has a mark

    def names(self) -> list[str]:
        """The names of its columns."""
        return [each.split()[0] for each in self.columns.split(", ")]

    def query(self) -> str:
        """All its rows."""
        return f"select {', '.join(self.names())} from {self.name}"

    def stream(self, scope: str, schema: str) -> StreamName:
        """Its stream, after the router from `_` to `-`."""
        return StreamName(scope, f"{PREFIX}.{schema}.{self.name}".replace("_", "-"))


ACCOUNTS: Final = Table(
    "accounts",
    ("id",),
    "id int, owner string, balance decimal(12,2), opened date, seen timestamp_ntz, note string",
    "note",
)
ITEMS: Final = Table(
    "order_items", ("order_id", "line"), "order_id int, line int, sku string, qty bigint, big string", "sku"
)
# Only single tests change it.
EXTRAS: Final = Table("extras", ("id",), "id int, n int, big string, note string", "note")
TABLES: Final = (ACCOUNTS, ITEMS)


def changes(spark: SparkSession, config: PravegaConfig, stream: StreamName, table: Table, **cuts: str) -> DataFrame:
    """A range of the changes of a table."""
    return (
        spark.read.format("pravega")
        .schema(f"{table.columns}, {_ABOUT}")
        .options(controller=config.controller_uri, scope=stream.scope, stream=stream.stream, decode="debezium-json")
        .options(key=",".join(table.key), **cuts)
        .load()
    )


def state(
    spark: SparkSession, config: PravegaConfig, table: Table, cut: StreamCut, unsent: int = 0, ghosts: str = "keep"
) -> list[tuple[Any, ...]]:
    """The rows of a table as `current` has them at a cut; so many rows lack values, because nobody has sent them."""
    assert cut.stream is not None
    read = changes(spark, config, cut.stream, table, end_stream_cut=cut.to_text())
    frame = current(read, list(table.key), ghosts=ghosts)
    rows = frame.select(*table.names(), "_unchanged").collect()
    assert len([row for row in rows if row._unchanged]) == unsent
    return [tuple(row)[:-1] for row in rows]


def assert_rows(found: list[tuple[Any, ...]], table: Table, expected: list[tuple[Any, ...]]) -> None:
    """The rows are those of the database, each once."""
    wrong = sorted(set(found) ^ set(expected), key=repr)[:6]
    assert not wrong, f"{table.name}: {len(found)} rows for {len(expected)}, among those that differ {wrong}"
    assert len(found) == len(expected)


class MarkFinder:
    """Finds the cuts of one stream after which nothing of a mark or from before it comes for the first time."""

    def __init__(self, client: PravegaClient, stream: StreamName, table: Table) -> None:
        self.stream, self.table = stream, table
        self._client = client
        self.cut = client.head(stream)
        self.events = self.repeated = 0
        self._known: set[tuple[Any, ...]] = set()

    def cut_after(self, number: int, debezium: Debezium) -> StreamCut:
        """The cut right after mark `number`: in each segment, Debezium keeps the order of the database's log."""
        ends: dict[Any, int] = {}
        found: set[Any] = set()
        position = self.cut

        def is_there() -> bool:
            nonlocal position
            debezium.look_after()
            tail = self._client.tail(self.stream)
            for event in self._client.read(StreamCutRange(position, tail)):
                change = json.loads(event.data)
                after = change["after"] or {}
                if after.get(self.table.marked) == f"mark {number}":
                    found.add(after[self.table.key[0]])
                    ends[event.segment] = event.offset + EVENT_HEADER + len(event.data)
            position = tail
            return len(found) == MARKS

        wait_until(is_there, lambda: f"{len(found)} of {MARKS} marks {number} are in {self.stream}", every=0.3)
        assert len(ends) == SEGMENTS, f"marks are in {len(ends)} segments only"
        self.count(StreamCutRange(self.cut, StreamCut(self.stream, ends)))
        self.cut = StreamCut(self.stream, ends)
        return self.cut

    def count(self, taken: StreamCutRange) -> None:
        """Count the events of a range, and those that Debezium has written before."""
        for event in self._client.read(taken):
            change = json.loads(event.data)
            row, source = change["after"] or change["before"] or {}, change["source"]  # of an emptied table none
            at = tuple(source.get(name) for name in ("lsn", "file", "pos", "row", "snapshot"))
            name = (*at, change["op"], *(row.get(each) for each in self.table.key))
            self.events += 1
            self.repeated += name in self._known
            self._known.add(name)
