"""Ways of events from a stream into a sink, and what other readers than this project find there."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psycopg2
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyarrow import dataset
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError
from tests.faults.field import read_officially
from tests.faults.rows import Difference, difference

from aiopravega import PravegaConfig, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient

TABLES = ("parquet", "delta", "iceberg", "postgres")
SINKS = ("stream", "two streams", *TABLES, "merge")
# Rows of a merged table; the changes of each are in one segment.
_KEYS = 23


@dataclass
class Flow:
    """A stream with its events, and the sink into which runs of one host bring them.

    `lake` has the properties of Iceberg's catalog. `table` is as users name it, `dsn` the address of its database.
    `master` is that of Spark, if the runs need one. `again` is true if the host tries a failed task once more. `events`
    are those that were written so far, in order.
    """

    host: str
    sink: str
    scope: str
    config: PravegaConfig
    folder: Path
    lake: dict[str, str]
    table: str = ""
    dsn: str = ""
    master: str = ""
    history: str = "none"
    again: bool = False
    events: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def stream(self) -> str:
        """The stream that is read."""
        return f"{self.scope}/source"

    @property
    def into(self) -> list[str]:
        """The streams that are written."""
        return [
            f"{self.scope}/{name}" for name in {"stream": ("one",), "two streams": ("one", "two")}.get(self.sink, ())
        ]

    @property
    def words(self) -> str:
        """The sink, and what differs between rounds."""
        kind = self.table.partition(":")[0] if self.sink == "merge" else ""
        history = self.history if self.sink == "merge" else ""
        retried = "tried again" if self.again else ""
        return " ".join(filter(None, (self.sink, kind, history, self.master.partition(":")[0], retried)))

    def make(self) -> None:
        """Make scope and streams."""
        with PravegaClient(self.config) as client:
            client.create_scope(self.scope)
            for name in (self.stream, *self.into):
                client.create_stream(name, ScalingPolicy.fixed(2))

    def put(self, count: int) -> None:
        """Write so many new events into the stream."""
        first = len(self.events)
        new = [
            (f"k{number % _KEYS}", b"k%d:%07d:" % (number % _KEYS, number)) for number in range(first, first + count)
        ]
        written = [self._change(first + index, event) for index, (_, event) in enumerate(new)]
        with PravegaClient(self.config) as client, client.writer(StreamName.parse(self.stream)) as writer:
            writer.write_many(written if self.sink == "merge" else [event for _, event in new], [key for key, _ in new])
        self.events += new

    @staticmethod
    def _change(number: int, event: bytes) -> bytes:
        """An event as the change of a row of a database."""
        source = {"connector": "postgresql", "lsn": number + 1, "table": "t", "snapshot": "false", "ts_ms": number + 1}
        after = {"id": number % _KEYS, "note": event.decode()}
        return json.dumps({"before": None, "after": after, "source": source, "op": "u", "ts_ms": number + 1}).encode()

    @property
    def expected(self) -> list[bytes]:
        """What has to be in each sink: all events; in a merged table without a history, the last one of each key."""
        if self.sink == "merge" and self.history == "none":
            return list(dict(self.events).values())
        return [event for _, event in self.events]

    def found(self) -> Iterator[list[bytes]]:
        """What is in each sink, by readers that are not of this project."""
        if self.into:
            names = [StreamName.parse(name).stream for name in self.into]
            yield from read_officially(self.config, self.scope, names, self.folder).values()
        else:
            try:
                yield [note.encode() for note in self._notes()]
            except (FileNotFoundError, TableNotFoundError, NoSuchTableError, psycopg2.errors.UndefinedTable):
                yield []  # no run has made the table

    def _notes(self) -> list[str]:
        kind, _, name = ("postgres", "", self.table) if self.dsn else self.table.partition(":")
        if kind == "postgres":
            with closing(psycopg2.connect(self.dsn)) as connection, connection.cursor() as cursor:
                cursor.execute(f"select note from {name}")
                return [note for (note,) in cursor.fetchall()]
        if kind == "parquet":
            rows = dataset.dataset(name, format="parquet", ignore_prefixes=["."]).to_table(columns=["note"])
        elif kind == "delta":
            rows = DeltaTable(name).to_pyarrow_table(columns=["note"])
        else:
            rows = (
                load_catalog("lake", **self.lake)
                .load_table(name.partition("/")[2])
                .scan(selected_fields=("note",))
                .to_arrow()
            )
        notes: list[str] = rows["note"].to_pylist()
        return notes

    def judge(self) -> Difference:
        """The errors of all sinks together."""
        each = [difference(self.expected, found) for found in self.found()]
        return Difference(*map(sum, zip(*each, strict=True)))
