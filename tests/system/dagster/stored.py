"""What Dagster's databases hold, as texts.

In the files, SQLite may break a text at the end of a page, and snapshots are compressed.
"""

import sqlite3
import zlib
from contextlib import closing, suppress
from pathlib import Path


def stored_texts(home: Path) -> bytes:
    """Every value of every table of every database in an instance's folder."""
    databases = sorted(home.rglob("*.db"))
    assert databases, f"{home} has no databases"
    return b"\n".join(text for database in databases for text in _texts(database))


def _texts(database: Path) -> list[bytes]:
    found: list[bytes] = []
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (table,) in tables:
            for row in connection.execute(f'select * from "{table.decode()}"'):
                found += [_plain(value) for value in row if isinstance(value, bytes)]
    return found


def _plain(value: bytes) -> bytes:
    with suppress(zlib.error):
        return zlib.decompress(value)
    return value
