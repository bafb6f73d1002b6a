"""Tables by their texts: the registry of kinds, and tables as users, programs and schedulers name them.

Schedulers show the arguments of a job, so a text that may have a password is refused there: a database is named by a
connection or a resource of the scheduler, which keeps its secrets.
"""

from collections.abc import Mapping, Sequence

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.iceberg import Iceberg
from pravega_jobs.landing.kinds import delta, iceberg, parquet, postgres
from pravega_jobs.landing.locations import in_store
from pravega_jobs.landing.partition_by import Partitions, partitions_of
from pravega_jobs.landing.postgres import Postgres
from pravega_jobs.landing.table_kind import LandingTable, TableKind

# All kinds of tables. A new kind is a module with its entry, and the entry here.
KINDS: tuple[TableKind, ...] = (parquet.KIND, delta.KIND, iceberg.KIND, postgres.KIND)


def kind_of(text: str) -> TableKind | None:
    """The kind of table that a text names; None: no kind begins its texts so."""
    word = text.partition(":")[0]
    return next((kind for kind in KINDS if word in kind.words), None)


def table_of(text: str) -> LandingTable:
    """The table that a text names. No server is asked.

    Args:
        text: `parquet:/folder`, `delta:/folder`, `delta:s3://bucket/path`, `iceberg:catalog/namespace.table`, or
            `postgresql://user@host/database#schema.table`.

    Raises:
        ConfigurationError: the text has none of these forms.
    """
    kind = kind_of(text)
    if kind is None:
        raise ConfigurationError(f"{text!r} is not the name of a table: write {forms_of(KINDS)}")
    return kind.parse(text)


def kind_of_table(table: LandingTable) -> TableKind | None:
    """The kind of a table; None: its class belongs to no kind."""
    return next((kind for kind in KINDS if isinstance(table, kind.table_class)), None)


def forms_of(kinds: Sequence[TableKind]) -> str:
    """The forms of the texts of some kinds, as a part of a sentence."""
    *others, last = (kind.form for kind in kinds)
    return f"{', '.join(others)} or {last}" if others else last


def shown_table(text: str, dsn: str | None, beside: str) -> LandingTable:
    """The table that an argument of a scheduler's job names, by itself or in the database of `dsn`.

    Args:
        text: `parquet:/folder`, `delta:/folder` or `iceberg:catalog/namespace.table`; with a database the table's name,
            with or without its schema.
        dsn: the address of the database for libpq, secrets included; an empty text, as long as it is not known.
        beside: the argument of the job that names the database, for messages.

    Raises:
        ConfigurationError: the text names no table. The message repeats nothing that may be a password.
    """
    word, colon, _ = text.partition(":")
    if dsn is not None:
        _check_plain(text, beside, "database", "schema.table")
        return Postgres(dsn, text)
    ways = (
        f"write {forms_of([kind for kind in KINDS if not kind.has_address])}; for PostgreSQL give {beside}, and the "
        "table's name such as schema.table"
    )
    if not colon:
        raise ConfigurationError(f"{text!r} does not say what kind of table it is: {ways}")
    kind = kind_of(text)
    if kind is None or kind.has_address:
        raise ConfigurationError(
            f"a table that begins with {word!r} is not taken here, since an address may have a password, and the "
            f"scheduler shows the arguments of a job: {ways}"
        )
    return kind.parse(text)


def check_partitions(table: LandingTable, given: Sequence[str]) -> None:
    """Check that tables of a kind can have the partitions that an argument names. No server is asked.

    Raises:
        ConfigurationError: they cannot, or a text has none of the forms of a partition.
    """
    parts, kind = partitions_of(given), kind_of_table(table)
    if not parts:
        return
    if kind is None or kind.partitions is Partitions.NONE:
        takers = " and ".join(each.title for each in KINDS if each.partitions is not Partitions.NONE)
        title = type(table).__name__ if kind is None else kind.title
        raise ConfigurationError(f"partition_by is for tables of {takers}, not for {title}: leave it out")
    functions = [str(each) for each in parts if each.function is not None]
    if functions and kind.partitions is Partitions.COLUMNS:
        raise ConfigurationError(
            f"partition_by has {', '.join(functions)}, and {kind.title} has partitions by columns only: add such a "
            "column to the rows, and name it"
        )


def catalog_table(text: str, catalog: str, properties: Mapping[str, str], beside: str) -> Iceberg:
    """The table of Iceberg that an argument of a scheduler's job names in a catalog that another argument names.

    Args:
        text: `namespace.table`.
        catalog: the catalog's name, for messages, and for more properties in the configuration of pyiceberg.
        properties: the properties of the catalog, secrets included.
        beside: the argument of the job that names the catalog, for messages.

    Raises:
        ConfigurationError: the text names no table in a catalog. The message repeats nothing that may be a password.
    """
    _check_plain(text, beside, "catalog", "namespace.table")
    return Iceberg(text, catalog, properties)


def _check_plain(text: str, beside: str, owner: str, form: str) -> None:
    if ":" in text:
        raise ConfigurationError(
            f"table is an address or a table of files, and {beside} is given: both say where the table is. Leave "
            f"{beside} out, or name the table in that {owner}, such as {form}"
        )


def folder_of(text: str) -> str | None:
    """The folder of a table of files; None for other tables, and for tables in object stores."""
    kind, (_, _, path) = kind_of(text), text.partition(":")
    return path if kind is not None and kind.names_folder and not in_store(path) else None
