"""Replay: recorded intervals through other code, and what it gives compared with what was written then."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, PravegaError, ReplayError
from aiopravega.names import StreamName
from pravega_jobs.frames import LARGEST_TABLE
from pravega_jobs.landing import LandingTable, table_of
from pravega_jobs.sandbox.differences import RowPairs, Side, row_pairs
from pravega_jobs.sandbox.functions import Replayed
from pravega_jobs.sandbox.landed import LandedRows
from pravega_jobs.sandbox.outputs import Keep, OutputOptions, Row, Written, WrittenEvents
from pravega_jobs.sandbox.recorded import INTERVAL, RecordedRange, recorded_ranges
from pravega_jobs.sandbox.result import ReplayedInterval, ReplayResult
from pravega_jobs.sandbox.rows import RowTexts, kinds_that_differ
from pravega_jobs.sandbox.scratch import ScratchEvents, scratch_stream
from pravega_jobs.sandbox.tally import Tally
from pravega_jobs.tables import check_table

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

# Bytes that the comparison has in memory.
_MEMORY: Final = 1_000_000_000
_SAMPLES: Final = 5


def replay(
    client: PravegaClient,
    stream: StreamName | str,
    *,
    consumer: str,
    intervals: Sequence[str] | str,
    code: Callable[..., Any] | str,
    compare_with: StreamName | LandingTable | str | None = None,
    key: Sequence[str] | str = (),
    write_id: str | None = None,
    commit_ledger: str | None = None,
    options: Mapping[str, Any] | None = None,
    output_options: Mapping[str, Any] | None = None,
    registry: "SchemaRegistry | None" = None,
    into: str | None = None,
    samples: int = _SAMPLES,
    largest: int = LARGEST_TABLE,
    memory: int = _MEMORY,
) -> ReplayResult:
    """Run recorded intervals through a function, and compare what it gives with what was written then.

    Nothing is recorded, and nothing is written but into a scratch scope, if one is named. The function gets the exact
    range of each interval. Its rows become events as a write would make them, and both sides become rows again by the
    same options: by default, the fields of JSON objects. A field that is null counts as missing. Routing keys and the
    order of events are not compared.

    Args:
        client: a connected client.
        stream: the stream of the intervals, as `scope/stream` or a name.
        consumer: the consumer that took them, as `pravega cuts list` shows it.
        intervals: their names, or one name; each must be done.
        code: the function, also as `@task.pravega` has decorated it, or its text `module:function`. Its first parameter
            has the annotation of a frame, as for `@task.pravega`, and it returns a table.
        compare_with: the stream that the intervals were written into, or the table that they were landed in, or its
            text; None: the stream that the ledger names.
        key: the columns that identify a row; empty: whole rows are compared, and none is changed.
        write_id: the name of the writes, in which `{interval}` stands for the interval; None: the ledger names them, as
            for tasks of Airflow and assets of Dagster.
        commit_ledger: `scope/table` of the ledger of the writes; None: what the cut ledger names, or the one in the
            scope of the output.
        options: of the read of the intervals, as of `read_arrow`.
        output_options: of the output: the options of its writes, as of `write_arrow`, and the options by which its
            events become columns, as of `read_arrow`.
        registry: the Schema Registry, as of `read_arrow`.
        into: a scratch scope, which is made if it is missing: the rows of now are written there, each once.
        samples: the number of rows that the result has of each difference.
        largest: the most bytes of a range that is in memory as a whole, if the function asks for such a frame.
        memory: the bytes that the comparison may have in memory; more is on disk.

    Returns:
        The differences; of several generations of a write, the newest is compared.

    Raises:
        ConfigurationError: an argument cannot work, an event is not a JSON object, or a package is not installed.
        LedgerError: an interval has no range or is not done, or its write is not done.
        LandingError: the table does not hold an interval, or its rows belong to no interval or were changed since.
        MixedRangeError: others wrote to the output at the same time as an interval.
        StreamTruncatedError: a part of a range, or of what was written, is gone.
        StreamMadeAgainError: a stream was deleted and made again.
        ReplayError: the function raised an error, which is the cause of this one.
        PravegaError: the cluster cannot be reached, or a range cannot be read.
    """
    names = list(dict.fromkeys([intervals] if isinstance(intervals, str) else intervals))
    if not names:
        raise ConfigurationError("a replay needs the name of an interval: intervals is empty")
    if write_id is not None and len(names) > 1 and INTERVAL not in write_id:
        raise ConfigurationError(
            f"write_id is {write_id!r} for {len(names)} intervals: write {INTERVAL} where the interval is in it"
        )
    if samples < 0:
        raise ConfigurationError(f"samples is {samples}, but must be 0 or more")
    function, of_output = Replayed.of(code), OutputOptions.parse(output_options or {})
    source, columns = StreamName.of(stream), [key] if isinstance(key, str) else list(key)
    output = _output(compare_with)
    find: Callable[[RecordedRange], Written]
    if output is None or isinstance(output, StreamName):
        find = partial(
            WrittenEvents.of,
            output=output,
            write_id=write_id,
            ledger=commit_ledger,
            options=of_output,
            registry=registry,
        )
    else:
        beside = {"write_id": write_id, "commit_ledger": commit_ledger, "output_options": output_options, "into": into}
        given = [name for name, value in beside.items() if value]
        if given:
            raise ConfigurationError(f"{', '.join(given)}: for a stream, but {compare_with} is a table. Leave it out")
        find = partial(LandedRows.of, table=output)
    found = [(each, find(each)) for each in recorded_ranges(client, source, consumer, names)]
    outputs = list(dict.fromkeys(written.output for _, written in found))
    if len(outputs) > 1:
        raise ConfigurationError(
            f"the intervals were written into {', '.join(outputs)}: name one of them by compare_with"
        )
    scratch = None
    if into is not None:
        target = StreamName.parse(outputs[0])
        scratch = scratch_stream(client, into, target, source)
    job = _Job(function, columns, options or {}, registry, largest, scratch, Tally(columns, samples))
    with row_pairs(has_key=bool(columns), memory=memory) as pairs:
        done = [job.run(each, written, pairs) for each, written in found]
    return ReplayResult(
        stream=str(source),
        consumer=consumer,
        code=function.name,
        output=outputs[0],
        key=columns,
        intervals=done,
        columns=job.tally.columns,
        schema=kinds_that_differ(job.before, job.now),
        added=job.tally.added,
        removed=job.tally.removed,
    )


def _output(given: StreamName | LandingTable | str | None) -> StreamName | LandingTable | None:
    if not isinstance(given, str):
        return given
    return table_of(given) if ":" in given else StreamName.of(given)


class _Job:
    """The replay of intervals, one after the other."""

    def __init__(
        self,
        function: Replayed,
        key: Sequence[str],
        options: Mapping[str, Any],
        registry: "SchemaRegistry | None",
        largest: int,
        scratch: StreamName | None,
        tally: Tally,
    ) -> None:
        self._function = function
        self._key = key
        self._options = options
        self._registry = registry
        self._largest = largest
        self._scratch = scratch
        self.tally = tally
        self.before, self.now = RowTexts(key), RowTexts(key)

    def run(self, of: RecordedRange, written: Written, pairs: RowPairs) -> ReplayedInterval:
        """Compare one interval."""
        pairs.clear()
        scratch = None if self._scratch is None else ScratchEvents(of.client, self._scratch)
        with scratch or nullcontext() as events:
            now = pairs.add(Side.NOW, self.now.texts(self._made(of, written, events and events.keep)))
            before = pairs.add(Side.BEFORE, self.before.texts(written.before()))
            self._check_key(written)
            added, removed, changed = self.tally.add(pairs.differences())
            return ReplayedInterval(
                interval=of.interval.name,
                written_as=written.name,
                generation=written.generation,
                before=before,
                now=now,
                added=added,
                removed=removed,
                changed=changed,
                repeated_keys=pairs.repeated_keys(),
                scratch=events and events.write(written.name),
            )

    def _made(self, of: RecordedRange, written: Written, keep: Keep | None) -> Iterator[Row]:
        """The rows that the function gives; a lazy frame or a relation is computed while they are read."""
        try:
            frame = self._function.kind.read(of, self._registry, self._options, self._largest)
            made = self._function.call(frame)
            check_table(made)
            yield from written.now(made, keep)
        except PravegaError:
            raise
        except Exception as error:
            raise ReplayError(
                f"{self._function.name} raised {type(error).__name__} on {of.interval}: {error}"
            ) from error

    def _check_key(self, written: Written) -> None:
        known = self.before.kinds.keys() | self.now.kinds.keys()
        missing = [name for name in self._key if name not in known]
        if missing and known:
            raise ConfigurationError(
                f"key names {', '.join(missing)}, but the rows of {written.output}, and those that the code gives, "
                f"have the columns {', '.join(sorted(known))}"
            )
