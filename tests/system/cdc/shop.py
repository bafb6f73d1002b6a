"""A shop: a database under Debezium's eyes, a Pravega whose processes can be killed, and moments to compare."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from tests.system.cdc.debezium import PREFIX, Debezium
from tests.system.cdc.load import Database, Load, first_rows, mark
from tests.system.cdc.tables import EXTRAS, SEGMENTS, TABLES, MarkFinder, Table

from aiopravega import PravegaConfig, ScalingPolicy, StreamCut, StreamName
from aiopravega.blocking import PravegaClient
from pravega_emulator import DurablePravega

SCOPE: Final = "shop"
# A segment store that was killed is there again after some ten seconds, on a slow machine after a minute.
_RETRY_SECONDS: Final = 300.0


@dataclass(frozen=True)
class Moment:
    """A table of the database at one moment: its rows, and the cut of its stream."""

    stream: StreamName
    cut: StreamCut
    rows: list[tuple[Any, ...]]


class Shop:
    """All of it runs as long as the `with` lasts."""

    def __init__(self, folder: Path, database: type[Database]) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._make = database
        self._marks = 0

    def __enter__(self) -> Self:
        with self._stack:
            self.database = self._stack.enter_context(self._make(self._folder))
            self.pravega = self._stack.enter_context(DurablePravega(data=self._folder / "pravega"))
            self.client = self._stack.enter_context(PravegaClient(self.config))
            self.client.create_scope(SCOPE)
            self.streams = {table: table.stream(SCOPE, self.database.schema) for table in (*TABLES, EXTRAS)}
            for stream in self.streams.values():
                self.client.create_stream(f"{SCOPE}/{stream.stream}", ScalingPolicy.fixed(SEGMENTS))
            for name in (PREFIX, f"{PREFIX}.transaction"):
                self.client.create_stream(f"{SCOPE}/{name}")
            self.finders: dict[Table, MarkFinder] = {
                table: MarkFinder(self.client, stream, table) for table, stream in self.streams.items()
            }
            self.database.run(first_rows())
            source = self.database.source(self._folder)
            self.debezium = Debezium(self._folder, self.config.controller_uri, SCOPE, source)
            self._stack.callback(self.debezium.kill)
            self.debezium.start()
            # Debezium says that it reads the log before the snapshot is written and its offset stored. Killed until
            # then it makes another snapshot, and rows that were deleted meanwhile stay. Batches come one after the
            # other, so the offset of the first mark is stored when the second one is there.
            for _ in range(2):
                self.moment(EXTRAS)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def config(self) -> PravegaConfig:
        """Of a client that waits for a segment store that was killed."""
        return self.pravega.config.model_copy(update={"retry_timeout": _RETRY_SECONDS})

    def moments(self, load: Load) -> dict[Table, Moment]:
        """Both tables as they are now; the load is held for the mark and for reading the rows, not for Debezium."""
        with load.held():
            rows = self._mark(*TABLES)
        return {table: self._moment(table, found) for table, found in rows.items()}

    def moment(self, table: Table, now: Table | None = None) -> Moment:
        """One table that no load changes as it is now; `now` has its columns, if they have changed."""
        now = now or table
        return self._moment(table, self._mark(now)[now])

    def _mark(self, *tables: Table) -> dict[Table, list[tuple[Any, ...]]]:
        self._marks += 1
        self.database.run(mark(self._marks))
        return dict(zip(tables, self.database.rows(*(table.query() for table in tables)), strict=True))

    def _moment(self, table: Table, rows: list[tuple[Any, ...]]) -> Moment:
        finder = self.finders[table]
        return Moment(finder.stream, finder.cut_after(self._marks, self.debezium), rows)
