"""Writes of tables to streams, exactly once: the rows become events, and one transaction holds them."""

from typing import Any, Unpack

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.events.batches import write_event_batches
from pravega_jobs.frames.events import event_batches
from pravega_jobs.frames.options import FrameOptions, WriteOptions
from pravega_jobs.tables import batches_of, check_table
from pravega_jobs.writes import Written


def write_arrow(
    client: PravegaClient,
    rows: Any,
    stream: StreamName | str,
    write_id: str,
    *,
    registry: SchemaRegistry | None = None,
    ledger: str | None = None,
    generation: int = 1,
    claimant: str | None = None,
    **options: Unpack[WriteOptions],
) -> Written:
    """Write the rows of a table exactly once: a further call with the same write id and the same rows adds nothing.

    A column `event` (text or bytes) is the event, and `routing_key` (text) its key. Without a column `event`, each row
    becomes a JSON object of all columns but `routing_key`, without null values.

    Args:
        client: a connected client.
        rows: a table of Arrow, pandas or Polars, a LazyFrame, or record batches, which are written one at a time.
        stream: the stream to write to, as `scope/stream` or a name; it must exist.
        write_id: the name of the write, such as that of the interval that the rows were made of.
        registry: the Schema Registry, for `encode="auto"`, by the newest schema of the stream's group.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the stream's scope. It is made if it is
            missing.
        generation: the generation of the write; 2 writes other rows after 1.
        claimant: the work that writes, for the record; see `pravega_jobs.writes.write_unless_done`.
        options: `encode` (`auto`), `schema_type`, `schema_registry_group`, `schema_registry_namespace`; of JSON objects
            `timestamp_format` (`iso`, `sql`) and `json_decimals` (`number`, `plain`, `text`), as of Spark's writes.

    Raises:
        ConfigurationError: an option is not known, or a column or a value cannot be a part of an event.
        StreamNotFoundError: the stream does not exist.
        WriteIdReusedError: the write is done already, with other rows.
        GenerationError: the generation cannot follow: the one before it is not done, or not known.
        EventTooLargeError: an event has more than 8 MiB.
        PartialCommitError: an earlier attempt of another kind is in the stream in part.
        TransactionAbortedError: the transaction's lease ran out; a further call begins again.
        PravegaError: a server cannot be reached; a further call finishes or repeats the write.
    """
    parsed = FrameOptions.parse(options)
    if parsed.named:
        raise ConfigurationError("the option 'decode' is of reads: writes have 'encode'")
    check_table(rows)
    name = StreamName.of(stream)
    batches = event_batches(batches_of(rows), parsed, name, registry)
    return write_event_batches(client, name, write_id, batches, ledger, generation, claimant)
