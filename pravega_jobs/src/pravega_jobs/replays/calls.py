"""The replay of errors, into tables and into streams."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.landing import ErrorsState, IntervalErrors, LandingTable, WrittenStream, list_errors
from pravega_jobs.landing.error_lists import rows_target
from pravega_jobs.landing.error_sinks import ErrorsSink
from pravega_jobs.landing.error_streams import connected
from pravega_jobs.landing.errors import ErrorsBeside
from pravega_jobs.landing.rules import Evolution, choice
from pravega_jobs.replays.into_streams import StreamReplay, finish_writes
from pravega_jobs.replays.into_tables import TableReplay, holding_of
from pravega_jobs.replays.mending import Mender, Replayed, Rule, decoding_options


def replay_errors(
    table: LandingTable | WrittenStream | str,
    options: Mapping[str, Any],
    *,
    errors: LandingTable | ErrorsSink | str | None = None,
    consumer: str | None = None,
    interval: str | None = None,
    registry: SchemaRegistry | None = None,
    new_columns: Evolution | str = Evolution.FAIL,
    change: Callable[[pa.Table], Any] | None = None,
    event_pointer: str | None = None,
    output_options: Mapping[str, Any] | None = None,
) -> list[Replayed]:
    """Decode the errors of landings or writes again, and put what can be decoded now beside the rows, exactly once.

    The rows of an interval in a table and its errors are replaced together, by its next generation: the rows that the
    table has, and the rows of mended errors. A stream gets the rows of mended errors by a write of its own, whose
    record names the errors that it has replayed and those that are left. Where no event can be decoded, nothing is
    changed.

    Args:
        table: the table whose rows were landed, or its text; or the stream that was written, or its text
            `stream:scope/name`.
        options: the options of decoding, as of `read_arrow`, such as `decode`, `columns`, `metadata_columns`. Change
            events are refused.
        errors: the errors table or errors stream, or its text; None: those that the notes of the table or the stream
            name.
        consumer: only errors of this consumer; None: of all.
        interval: only errors of this interval; None: of all.
        registry: a client of the Schema Registry, as of `read_arrow`.
        new_columns: the treatment of columns that the table lacks, as of `land`.
        change: makes rows of the target from the rows of the mended errors, as the job does that lands or writes; None:
            they are rows of the target. It gets a table of Arrow, and gives one, or another frame that `land` takes.
        event_pointer: the column that has the pointer of each row's event, as the option
            `metadata_columns="event_pointer"` gives it, and as `change` keeps it. Events whose rows do not fit the
            target are left as errors then, with the reason; None: such a row fails the replay. Without `change` they
            are always left.
        output_options: of a stream, how rows become events, as of `write_arrow`.

    Returns:
        A result for each landing or write that had errors, in their order.

    Raises:
        ConfigurationError: an option is not known, no schema is known, or a text names no table.
        LandingError: errors or rows are missing, an error has no pointer to its event, the rows do not fit the table,
            or another run has replayed them meanwhile. What comes before is mended.
        PravegaError: the registry, a table or the cluster cannot be asked.
    """
    target = rows_target(table)
    growing, rule = choice(new_columns, Evolution, "new_columns"), Rule(change, event_pointer)
    mender = Mender(decoding_options(options), registry)
    if isinstance(target, WrittenStream):
        encoding = FrameOptions.parse(output_options or {})
        with connected(target.client) as client:
            stream = replace(target, client=client)
            finish_writes(client, stream)
            found = [each for each in list_errors(stream, errors) if each.is_of(consumer, interval)]
            return [StreamReplay(client, stream, each, mender, encoding, rule).run() for each in _counted(found)]
    if output_options:
        raise ConfigurationError(
            f"output_options={dict(output_options)!r} are for events of a stream, and {target.location()} is a table"
        )
    target.repair()
    found = [each for each in list_errors(target, errors) if each.is_of(consumer, interval)]
    counted = _counted(found)
    done = [TableReplay(target, each, holding_of(target, each), mender, growing, rule).run() for each in counted]
    # Errors of runs that were killed before they took them out.
    for held in target.holdings():
        for each in found:
            if each.state is ErrorsState.NOT_COUNTED and (each.consumer, each.interval) == (
                held.consumer,
                held.interval,
            ):
                ErrorsBeside(each.sink, target).take_out_others(held)
    return done


def _counted(errors: list[IntervalErrors]) -> list[IntervalErrors]:
    """The errors that count.

    Raises:
        LandingError: some of them are missing.
    """
    counted = [each for each in errors if each.counts]
    for each in counted:
        each.check()
    return counted
