"""Statements about streams as tables: make one with the columns of its events, list a scope's, delete one."""

from typing import Final, TypeAlias

import duckdb
import pyarrow as pa

from aiopravega.client import PravegaClient
from aiopravega.commands.common import Options, show
from aiopravega.commands.stream_changes import catalog_of
from aiopravega.commands.streams import delete_stream, list_streams
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.gates.candidates.columns import from_columns
from aiopravega.names import StreamName
from pravega_jobs.commands.queries import lock
from pravega_jobs.commands.statements import CreateTable, DropTable, ShowTables

# What a table of DuckDB promises, and a stream cannot.
_PROMISES: Final = (
    "SELECT constraint_text FROM duckdb_constraints()",
    "SELECT column_default FROM duckdb_columns() WHERE NOT internal",
)
OnTables: TypeAlias = CreateTable | DropTable | ShowTables


async def run_on_tables(options: Options, statement: OnTables) -> int:
    """Run the statement; returns the exit status.

    Raises:
        ConfigurationError: an option is of queries, or a stream cannot have such columns.
        PravegaError: the cluster or the registry cannot be asked.
    """
    for name in ("between", "as_of", "since", "follow", "ahead", "clip", "write_id", "form", "output", "read_options"):
        if getattr(options, name):
            raise ConfigurationError("ranges, forms and -o are of queries: this statement reads no events")
    given = {} if options.controller is None else {"controller_uri": options.controller}
    async with PravegaClient(PravegaConfig(**given)) as client:
        match statement:
            case ShowTables():
                return await list_streams(client, _with(options, scope=statement.scope, tag=None))
            case DropTable():
                stream = StreamName.parse(statement.stream, client.config.scope)
                if statement.if_exists and not await client.stream_exists(stream):
                    return show(options, {"stream": str(stream), "deleted": False}, f"there is no stream {stream}")
                return await delete_stream(client, _with(options, stream=str(stream), keep_schemas=False))
            case CreateTable():
                return await _create(client, options, statement)


def _with(options: Options, **more: object) -> Options:
    return Options(**vars(options) | more)


async def _create(client: PravegaClient, options: Options, statement: CreateTable) -> int:
    columns = columns_of_table(statement)
    stream = StreamName.parse(statement.stream, client.config.scope)
    if statement.if_not_exists and await client.stream_exists(stream):
        return show(options, {"stream": str(stream), "created": False}, f"there is a stream {stream} already")
    async with catalog_of(client, options) as catalog:
        made = await catalog.create(stream, from_columns(columns, stream.stream))
    return show(options, made.to_json(), f"{stream} is made, with the columns {', '.join(columns.names)}")


def columns_of_table(statement: CreateTable) -> pa.Schema:
    """The columns that a statement names, as DuckDB reads their types.

    Raises:
        ConfigurationError: DuckDB does not make such a table, or it promises what a stream cannot hold.
    """
    with duckdb.connect() as database:
        lock(database)
        try:
            database.execute(statement.text)
            columns: pa.Schema = database.sql(f"""FROM "{statement.stream}" """).to_arrow_table().schema
            promised = [text for query in _PROMISES for (text,) in database.execute(query).fetchall() if text]
        except duckdb.Error as error:
            raise ConfigurationError(f"DuckDB does not make the columns of {statement.stream}: {error}") from None
    if promised:
        raise ConfigurationError(
            f"{promised[0]}: a stream has no keys, no defaults and no checks, and each of its columns may be null"
        )
    return columns
