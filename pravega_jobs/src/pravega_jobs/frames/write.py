"""Writes of tables to streams, exactly once: the rows become events, and one transaction holds them."""

from typing import Any, Unpack

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.events.batches import write_event_batches
from pravega_jobs.frames.events import event_batches
from pravega_jobs.frames.options import FrameOptions, WriteOptions
from pravega_jobs.landing.error_streams import ErrorsStream
from pravega_jobs.landing.errors import check_error_column
from pravega_jobs.landing.local_rows import types_of
from pravega_jobs.landing.write_errors import errors_of_write
from pravega_jobs.spark.options import ERROR
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
    errors: ErrorsStream | str | None = None,
    most_errors: int | str | None = None,
    consumer: str | None = None,
    interval: str | None = None,
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
        errors: an errors stream, as `stream:scope/name`, which gets the rows with an error in the column `_error`, as
            reads with `on_error=dead` give it: by the same decision by which the stream gets the others, without that
            column. It must exist.
        most_errors: the most errors that the write may have, such as `100` or `"1%"` of all rows; None: any number.
        consumer: the consumer whose events they are, for the errors; None: they name the stream that is written to.
        interval: the interval of the events, for the errors; None: the write id.
        options: `encode` (`auto`), `schema_type`, `schema_registry_group`, `schema_registry_namespace`; of JSON objects
            `timestamp_format` (`iso`, `sql`) and `json_decimals` (`number`, `plain`, `text`), as of Spark's writes.

    Raises:
        ConfigurationError: an option is not known, or a column or a value cannot be a part of an event.
        StreamNotFoundError: the stream does not exist.
        WriteIdReusedError: the write is done already, with other rows or errors.
        TooManyErrorsError: there are more errors than `most_errors`; nothing is visible.
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
    beside = errors_of_write(client, name, write_id, generation, errors, most_errors, consumer, interval)
    reader = batches_of(rows)
    if beside is None:
        check_error_column(types_of(reader.schema).get(ERROR), None)
    else:
        reader = beside.sifted(reader)
        beside.check()
    batches = event_batches(reader, parsed, name, registry)
    return write_event_batches(client, name, write_id, batches, ledger, generation, claimant, errors=beside)
