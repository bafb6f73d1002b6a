"""Writes of one table into several streams, by the values of a column, decided together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Unpack

import pyarrow as pa

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.error_rows import Sieve
from pravega_jobs.events.batches import write_to_streams
from pravega_jobs.frames.events import batches_by_column
from pravega_jobs.frames.options import WriteOptions
from pravega_jobs.frames.several import errors_beside, named_streams
from pravega_jobs.frames.write import parsed_options, without_errors
from pravega_jobs.landing.error_streams import ErrorsStream
from pravega_jobs.landing.write_errors import ErrorsOfWrite
from pravega_jobs.refusals import Refusals, check_refusals, of_stream
from pravega_jobs.tables import batches_of, check_table
from pravega_jobs.writes import Written


def write_by_column(
    client: PravegaClient,
    rows: Any,
    column: str,
    streams: Mapping[str, StreamName | str],
    write_id: str,
    *,
    registry: SchemaRegistry | None = None,
    ledger: str | None = None,
    generation: int = 1,
    claimant: str | None = None,
    errors: ErrorsStream | str | None = None,
    most_errors: int | str | None = None,
    errors_of: StreamName | str | None = None,
    consumer: str | None = None,
    interval: str | None = None,
    event_pointer: str | None = None,
    **options: Unpack[WriteOptions],
) -> Written:
    """Write the rows of one table to several streams by the values of a column, as `write_streams` does.

    The table is read once. The column is not a part of the events.

    Args:
        client: a connected client.
        rows: a table, as `write_arrow` takes it.
        column: the column (text) that says where a row goes.
        streams: the stream of each value; all of them are streams of the write, also those that get no rows.
        write_id: the name of the write.
        registry: the Schema Registry, for `encode="auto"`, by the newest schema of each stream's group.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the scope that all streams are in.
        generation: the generation of the write.
        claimant: the work that writes, for the record.
        errors: an errors stream, as of `write_arrow`, for rows that their stream refuses; the table has the column
            `_error` then.
        most_errors: the most errors that each stream may have, such as `100` or `"1%"` of its rows.
        errors_of: the stream of the write to which rows with an error in the column `_error` belong: they have no value
            in `column`. None: such a row fails the write.
        consumer: the consumer whose events they are, for the errors; None: they name the stream that is written to.
        interval: the interval of the events, for the errors; None: the write id.
        event_pointer: the column of pointers, as of `write_arrow`: the event of a row that cannot be an event of its
            stream becomes an error of this stream.
        options: as of `write_arrow`.

    Raises:
        ConfigurationError: there is no such column, or a row has a value that has no stream; nothing was written then.
        PravegaError: as of `write_streams`.
    """
    parsed = parsed_options(options)
    check_table(rows)
    by_value = {value: StreamName.of(stream) for value, stream in streams.items()}
    named = named_streams({stream: value for value, stream in by_value.items()})
    beside = errors_beside(client, named, write_id, generation, errors, most_errors, consumer, interval)
    check_refusals(event_pointer, None, errors)
    refusals = (
        {}
        if event_pointer is None
        else {stream: Refusals(of_stream(client), its.sieve, event_pointer) for stream, its in beside.items()}
    )
    kept = _sifted(rows, column, beside, errors_of)
    batches = batches_by_column(kept, column, by_value, parsed, registry, refusals)
    return write_to_streams(client, [*named], write_id, batches, ledger, generation, claimant, errors=beside)


def _sifted(
    rows: Any, column: str, beside: Mapping[StreamName, ErrorsOfWrite], errors_of: StreamName | str | None
) -> pa.RecordBatchReader:
    """The rows without an error, without that column; the errors belong to one stream.

    Raises:
        ConfigurationError: the stream is none of the write, or there is an error and no such stream.
    """
    owner = None if errors_of is None else StreamName.of(errors_of)
    if owner is not None and owner not in beside:
        raise ConfigurationError(f"errors_of is {owner}, but must be a stream of the write, and needs errors")
    if not beside:
        return without_errors(rows)
    # Errors without a stream are kept apart from rows that a stream refuses.
    its = replace(next(iter(beside.values())), sieve=Sieve()) if owner is None else beside[owner]
    its.check()
    sifted = its.sifted(batches_of(rows))
    return (
        sifted
        if owner is not None
        else pa.RecordBatchReader.from_batches(sifted.schema, _without_undecoded(sifted, its.sieve, column))
    )


def _without_undecoded(rows: Iterable[pa.RecordBatch], sieve: Sieve, column: str) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        found = sieve.errors()
        if len(found):
            raise ConfigurationError(
                f"the event at {found[0]['pointer']} cannot be decoded, and has no value in column {column!r} "
                f"({found[0]['reason']}): name the stream that such errors belong to, as errors_of"
            )
        yield batch
