"""Tables by texts that everybody may see: schedulers show a job's arguments, so addresses of databases are refused.

A database is named beside the text, by a connection or a resource of the scheduler, which keeps its secrets.
"""

from typing import Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.postgres import Postgres
from pravega_jobs.landing.targets import LandingTable, table_of

_FILES: Final = ("parquet", "delta")
_KINDS: Final = (*_FILES, "iceberg")


def shown_table(text: str, dsn: str | None, beside: str) -> LandingTable:
    """The table that a text names: by itself, or in the database of `dsn`. Nothing is asked.

    Args:
        text: `parquet:/folder`, `delta:/folder` or `iceberg:catalog/namespace.table`; with a database the table's name,
            with or without its schema.
        dsn: how libpq reaches the database, secrets included; an empty text, as long as that is not known.
        beside: the argument of the job that names the database, for messages.

    Raises:
        ConfigurationError: the text names no table. The message repeats nothing that may be a password.
    """
    if dsn is not None:
        if ":" in text:
            raise ConfigurationError(
                f"table is an address or a table of files, and {beside} is given: both say where the table is. Leave "
                f"{beside} out, or name the table in that database, such as schema.table"
            )
        return Postgres(dsn, text)
    kind, colon, _ = text.partition(":")
    ways = (
        "write parquet:/folder, delta:/folder or iceberg:catalog/namespace.table; for PostgreSQL give "
        f"{beside}, and the table's name such as schema.table"
    )
    if not colon:
        raise ConfigurationError(f"{text!r} does not say what kind of table it is: {ways}")
    if kind not in _KINDS:
        raise ConfigurationError(
            f"a table that begins with {kind!r} is not taken here, since an address may have a password, and the "
            f"scheduler shows the arguments of a job: {ways}"
        )
    return table_of(text)


def folder_of(text: str) -> str | None:
    """The folder of a table of files; None for other tables."""
    kind, _, path = text.partition(":")
    return path if kind in _FILES else None
