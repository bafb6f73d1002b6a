"""Writes of what a query finds to a stream, exactly once."""

from typing import Any

import pyarrow as pa

from aiopravega.blocking.intervals import TakenRange
from aiopravega.commands.common import Options
from aiopravega.errors import ConfigurationError
from aiopravega.schema.open import GroupAddress, find_group
from pravega_jobs.commands.ranges import Cluster, options_of
from pravega_jobs.commands.statements import Insert
from pravega_jobs.frames import write_arrow
from pravega_jobs.identity.names import write_of_query
from pravega_jobs.writes import Written

_EVENT = "event"


def write_id_of(options: Options, taken: TakenRange | None) -> str:
    """The name of a write: as it is given, or by the consumer and its interval.

    Raises:
        ConfigurationError: there is neither.
    """
    if options.write_id is not None:
        given: str = options.write_id
        return given
    if taken is None or taken.interval is None:
        raise ConfigurationError(
            "a write needs a name, by which it is done once: --write-id ID, or --since last --consumer NAME"
        )
    return write_of_query(options.consumer, taken.interval)


def insert(options: Options, cluster: Cluster, statement: Insert, rows: pa.RecordBatchReader, write_id: str) -> Written:
    """Write the rows of a query exactly once.

    Raises:
        ConfigurationError: the names of the columns do not fit, or a column or a value cannot be a part of an event.
        WriteIdReusedError: the write is done already, with other rows.
        PravegaError: as `write_arrow`.
    """
    stream, scope = cluster.name(statement.stream), cluster.client.config.scope
    named = _named(rows, statement)
    given: Any = options_of(options, stream, scope, others=False)
    if "encode" not in given and cluster.registry is not None and _EVENT not in named.schema.names:
        address = GroupAddress.of_stream(
            stream, given.get("schema_registry_group"), given.get("schema_registry_namespace")
        )
        registry = cluster.registry
        if registry.run(find_group(registry.asynchronous, address)) is not None:
            given["encode"] = "auto"
    return write_arrow(cluster.client, named, stream, write_id, registry=cluster.registry, **given)


def _named(rows: pa.RecordBatchReader, statement: Insert) -> pa.RecordBatchReader:
    names = statement.columns
    if names is None:
        return rows
    if len(names) != len(rows.schema.names):
        raise ConfigurationError(
            f"INSERT INTO {statement.stream} names {len(names)} columns, but the query has {len(rows.schema.names)}"
        )
    schema = pa.schema([field.with_name(name) for field, name in zip(rows.schema, names, strict=True)])
    return pa.RecordBatchReader.from_batches(schema, (batch.rename_columns(list(names)) for batch in rows))
