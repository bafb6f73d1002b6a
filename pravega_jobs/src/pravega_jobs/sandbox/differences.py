"""Rows of before and of now that differ: paired by their key, in a database of DuckDB in a temporary folder.

It knows neither streams nor events. DuckDB has so much memory as it is given, and uses the disk for more.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pravega_jobs.frame_kinds import need

if TYPE_CHECKING:
    import duckdb

# Rows that are handed over at a time.
_ROWS: Final = 10_000
_COLUMNS: Final = pa.schema([("key", pa.string()), ("row", pa.string())])
_LOCKS: Final = ("enable_external_access = false", "lock_configuration = true")
# Rows that both sides have cancel each other out, as often as both have them.
_LEFT: Final = """
    WITH net AS (SELECT key, row, sum(side)::BIGINT AS n FROM rows GROUP BY key, row HAVING sum(side) <> 0),
    single AS (SELECT key, row, n > 0 AS is_new, unnest(range(abs(n))) FROM net)
"""
# Of a key that a side has several times, the rows are paired in the order of their texts.
_BY_KEY: Final = f"""
    {_LEFT},
    numbered AS (SELECT *, row_number() OVER (PARTITION BY key, is_new ORDER BY row) AS number FROM single)
    SELECT coalesce(a.key, b.key) AS key, a.row AS before, b.row AS now
    FROM (FROM numbered WHERE NOT is_new) AS a
    FULL JOIN (FROM numbered WHERE is_new) AS b ON a.key = b.key AND a.number = b.number
    ORDER BY ALL
"""
_BY_ROW: Final = f"""
    {_LEFT}
    SELECT NULL, CASE WHEN NOT is_new THEN row END AS before, CASE WHEN is_new THEN row END AS now
    FROM single ORDER BY before, now
"""
_REPEATED: Final = """
    SELECT count(*) FROM (SELECT DISTINCT key FROM (SELECT key FROM rows GROUP BY key, side HAVING count(*) > 1))
"""


class Side(IntEnum):
    """The origin of a row: it was written then, or the code gives it now."""

    BEFORE = -1
    NOW = 1


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that differs: `before` is None for an added one, `now` for a removed one; both for a changed one."""

    key: str | None
    before: str | None
    now: str | None


class RowPairs:
    """The rows of one interval at a time, of both sides."""

    def __init__(self, database: "duckdb.DuckDBPyConnection", has_key: bool) -> None:
        self._database = database
        self._has_key = has_key

    def clear(self) -> None:
        """Forget all rows."""
        self._database.execute("CREATE OR REPLACE TABLE rows (side TINYINT, key VARCHAR, row VARCHAR)")

    def add(self, side: Side, rows: Iterable[tuple[str | None, str]]) -> int:
        """Store the keys and the texts of rows; returns their number."""
        count, left = 0, iter(rows)
        while some := list(islice(left, _ROWS)):
            keys, texts = zip(*some, strict=True)
            given = pa.table([pa.array(keys, pa.string()), pa.array(texts, pa.string())], schema=_COLUMNS)
            self._database.register("given", given)
            self._database.execute(f"INSERT INTO rows SELECT {side.value}, key, row FROM given")
            self._database.unregister("given")
            count += len(some)
        return count

    def differences(self) -> Iterator[Difference]:
        """The rows that differ, by key."""
        found = self._database.execute(_BY_KEY if self._has_key else _BY_ROW)
        while some := found.fetchmany(_ROWS):
            for row in some:
                yield Difference(*row)

    def repeated_keys(self) -> int:
        """The number of keys that a side has several times."""
        counted: Sequence[Any] | None = self._database.execute(_REPEATED).fetchone()
        return 0 if counted is None or not self._has_key else int(counted[0])


@contextmanager
def row_pairs(*, has_key: bool, memory: int) -> Iterator[RowPairs]:
    """A database for rows while a block compares them.

    Args:
        has_key: True if rows are paired by their key.
        memory: bytes that DuckDB may have in memory.

    Raises:
        ConfigurationError: DuckDB is not installed.
    """
    need("sql", "duckdb")
    import duckdb

    with tempfile.TemporaryDirectory(prefix="pravega-replay-") as folder:
        config: dict[str, Any] = {"temp_directory": folder, "memory_limit": f"{memory}B"}
        with duckdb.connect(str(Path(folder) / "rows.db"), config=config) as database:
            for setting in _LOCKS:
                database.execute(f"SET {setting}")
            yield RowPairs(database, has_key)
