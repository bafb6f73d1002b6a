"""Writes of tables to streams, exactly once: the rows become events, in one transaction for each stream."""

from collections.abc import Iterator
from typing import Any, Unpack

import pyarrow as pa

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.events.batches import EventBatch, write_event_batches
from pravega_jobs.frames.events import event_batches
from pravega_jobs.frames.options import FrameOptions, WriteOptions
from pravega_jobs.landing.error_streams import ErrorsStream
from pravega_jobs.landing.errors import check_error_column
from pravega_jobs.landing.local_rows import types_of
from pravega_jobs.landing.write_errors import ErrorsOfWrite, errors_of_write
from pravega_jobs.refusals import Checks, Refusals, check_refusals, of_stream
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
    event_pointer: str | None = None,
    checks: Checks | None = None,
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
        event_pointer: the column that has the pointer of the event that a row was made of, as reads with
            `metadata_columns="event_pointer"` give it. It is not a part of the events. If a row cannot be an event of
            the stream, or does not pass a check, its event becomes an error. None: such a row fails the write.
        checks: conditions of `pyarrow.compute` by names, such as `{"a price": field("price") > 0}`, which must be true
            for each row.
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
    parsed = parsed_options(options)
    check_table(rows)
    name = StreamName.of(stream)
    return write_rows(
        client,
        batches_of(rows),
        name,
        write_id,
        parsed,
        registry=registry,
        ledger=ledger,
        generation=generation,
        claimant=claimant,
        errors=errors_of_write(client, name, write_id, generation, errors, most_errors, consumer, interval),
        event_pointer=event_pointer,
        checks=checks,
    )


def without_errors(rows: Any) -> pa.RecordBatchReader:
    """The batches of a table that has no column of errors.

    Raises:
        ConfigurationError: it has.
    """
    reader = batches_of(rows)
    check_error_column(types_of(reader.schema).get(ERROR), None)
    return reader


def parsed_options(options: WriteOptions) -> FrameOptions:
    """The options of a write.

    Raises:
        ConfigurationError: one is not known, or of reads.
    """
    parsed = FrameOptions.parse(options)
    if parsed.named:
        raise ConfigurationError("the option 'decode' is of reads: writes have 'encode'")
    return parsed


def write_rows(
    client: PravegaClient,
    rows: pa.RecordBatchReader,
    stream: StreamName,
    write_id: str,
    options: FrameOptions,
    *,
    registry: SchemaRegistry | None,
    ledger: str | None,
    generation: int,
    claimant: str | None = None,
    errors: ErrorsOfWrite | None,
    event_pointer: str | None = None,
    checks: Checks | None = None,
) -> Written:
    """Write rows exactly once, by options that were read already.

    Args:
        client: a connected client.
        rows: the rows, which are read once.
        stream: the stream to write to.
        write_id: the name of the write.
        options: of the encoding.
        registry: the Schema Registry, for `encode=auto`.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the stream's scope.
        generation: the generation of the write.
        claimant: the work that writes.
        errors: the errors of the write, which are taken out of the rows; None: the rows have none.
        event_pointer: the column that has the pointers of the rows' events.
        checks: conditions that must be true for each row.

    Raises:
        PravegaError: as `write_arrow`.
    """
    batches = events_of(client, rows, options, stream, registry, errors, event_pointer, checks)
    return write_event_batches(client, stream, write_id, batches, ledger, generation, claimant, errors=errors)


def events_of(
    client: PravegaClient,
    rows: pa.RecordBatchReader,
    options: FrameOptions,
    stream: StreamName,
    registry: SchemaRegistry | None,
    errors: ErrorsOfWrite | None,
    event_pointer: str | None,
    checks: Checks | None,
) -> Iterator[EventBatch]:
    """The events of the rows of a stream; the errors among them are kept while they are read.

    Raises:
        ConfigurationError: rows that are refused have nowhere to go, or as `event_batches`.
        PravegaError: as `event_batches`.
    """
    check_refusals(event_pointer, checks, errors)
    if errors is None:
        return event_batches(without_errors(rows), options, stream, registry)
    rows = errors.sifted(rows)
    errors.check()
    refusals = None if event_pointer is None else Refusals(of_stream(client), errors.sieve, event_pointer, checks or {})
    return event_batches(rows, options, stream, registry, refusals)
