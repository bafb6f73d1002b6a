"""A database, and a Debezium that loses its offset again and again, in plain Python: the events, and what is true."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

KEYS = range(1, 8)
# The row that is always there: a snapshot of an empty table has no events.
ALWAYS = 0
TYPES = {"r": "insert", "u": "update_postimage", "d": "delete"}
SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("n", pa.int64()),
        ("_change_type", pa.string()),
        ("_op", pa.string()),
        ("_snapshot", pa.string()),
        ("_ingested_at", pa.timestamp("us", "UTC")),
        ("_sequence", pa.binary()),
    ]
)


class Event(NamedTuple):
    """A change as Debezium writes it; `n` is None for a delete."""

    id: int
    n: int | None
    op: str
    snapshot: str
    position: int
    taken: int


@dataclass
class World:
    """The database, its log, and what Debezium has written of it."""

    rows: dict[int, int] = field(default_factory=lambda: {ALWAYS: 0})
    events: list[Event] = field(default_factory=list)
    _position: int = 0
    _clock: int = 0
    _fresh: int = 100  # keys of rows that open transactions insert
    _open: list[tuple[int, int, int]] = field(default_factory=list)
    _commits: list[tuple[int, int | None, int]] = field(default_factory=list)
    _streamed: int | None = None  # None: it has no offset
    _stored: int = 0

    def do(self, step: tuple[str, int]) -> None:
        kind, number = step
        getattr(self, f"_{kind}")(number)

    def finish(self) -> None:
        """Commit what is open, and let Debezium write all."""
        self._commit(0)
        self._stream(0)

    def _next(self) -> int:
        self._position += 1
        return self._position

    def _put(self, key: int) -> None:
        position = self._next()
        self.rows[key] = position
        self._commits.append((key, position, position))

    def _delete(self, key: int) -> None:
        if self.rows.pop(key, None) is not None:
            self._commits.append((key, None, self._next()))

    def _begin(self, number: int) -> None:
        """A transaction inserts a row, and stays open."""
        del number
        self._fresh += 1
        self._open.append((self._fresh, self._fresh, self._next()))

    def _commit(self, number: int) -> None:
        del number
        for key, n, position in self._open:
            self.rows[key] = n
            self._commits.append((key, n, position))
        self._open.clear()
        self._next()

    def _lose(self, number: int) -> None:
        """Debezium is killed before it has stored an offset; `number` rows of its next snapshot are written."""
        self._streamed = None
        self._snapshot(min(number, len(self.rows) - 1))

    def _restart(self, number: int) -> None:
        """Debezium is killed, and repeats what it wrote since it stored its offset."""
        del number
        if self._streamed is not None:
            self._streamed = self._stored

    def _store(self, number: int) -> None:
        del number
        self._stored = self._streamed or 0

    def _stream(self, number: int) -> None:
        """Debezium writes all that is committed, after a snapshot if it has no offset."""
        del number
        if self._streamed is None:
            self._snapshot(len(self.rows))
            self._streamed = self._stored = len(self._commits)
        for key, n, position in self._commits[self._streamed :]:
            self._write(key, n, "d" if n is None else "u", "false", position)
        self._streamed = len(self._commits)

    def _snapshot(self, count: int) -> None:
        position = self._next()
        ids = sorted(self.rows)
        for index, key in enumerate(ids[:count]):
            said = "last_in_data_collection" if index == len(ids) - 1 else "true" if index else "first"
            self._write(key, self.rows[key], "r", said, position)

    def _write(self, key: int, n: int | None, op: str, said: str, position: int) -> None:
        self._clock += 1
        self.events.append(Event(key, n, op, said, position, self._clock))


def newest_snapshot(events: Sequence[Event]) -> tuple[int, int] | None:
    """The position of the newest snapshot that has ended, and when it was begun."""
    whole = {each.position for each in events if each.op == "r" and each.snapshot.startswith("last")}
    if not whole:
        return None
    newest = max(whole)
    return newest, min(each.taken for each in events if each.op == "r" and each.position == newest)


def last_changes(events: Sequence[Event]) -> tuple[list[Event], int | None]:
    """What Spark leaves of a range, with the position of the snapshot."""
    found = newest_snapshot(events)
    kept = [e for e in events if found is None or not (e.position < found[0] and e.taken < found[1])]
    if found is not None:
        kept = [e._replace(position=max(e.position, found[0])) for e in kept]
    last: dict[int, Event] = {}
    for each in kept:
        if each.id not in last or each.position >= last[each.id].position:
            last[each.id] = each
    return list(last.values()), None if found is None else found[0]


def table_of(events: Sequence[Event]) -> pa.Table:
    """Events as a read gives them."""
    rows = [(e.id, e.n, TYPES[e.op], e.op, e.snapshot, e.taken, e.position.to_bytes(8, "big")) for e in events]
    columns = zip(*rows, strict=True) if rows else [[]] * len(SCHEMA)
    return pa.table([pa.array(each, field.type) for each, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
