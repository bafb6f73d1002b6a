"""Rows that were written then, and rows that the code gives now, in one form: of events in a stream.

The rows of now become events as a write makes them, and both sides are decoded by the same options. So only what a
reader of the stream would see is compared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.names import SegmentId, StreamName
from pravega_jobs.decoding.options import ENCODE
from pravega_jobs.events.batches import EventBatch
from pravega_jobs.frames import StreamRange
from pravega_jobs.frames.events import event_batches
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.frames.read import PlannedRead, plan_read
from pravega_jobs.sandbox.recorded import RecordedRange, WrittenThen, write_of
from pravega_jobs.sandbox.rows import objects_of
from pravega_jobs.spark.options import JSON_OPTIONS, METADATA_COLUMNS_OPTION
from pravega_jobs.tables import batches_of

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

_EVENT: Final = "event"
_OF_WRITES: Final = (ENCODE, *JSON_OPTIONS)
# Options that choose a schema are for both.
_OF_BOTH: Final = ("schema_type", "schema_registry_group", "schema_registry_namespace")

Row: TypeAlias = Mapping[str, Any]
Keep: TypeAlias = Callable[[EventBatch], None]


class Written(Protocol):
    """The rows that an interval gave then, and the form that the rows of now get beside them."""

    @property
    def output(self) -> str:
        """The stream or the table."""

    @property
    def name(self) -> str:
        """The name under which the interval was written once."""

    @property
    def generation(self) -> int:
        """The generation of the write."""

    def before(self) -> Iterator[Row]:
        """The rows that were written then."""

    def now(self, made: Any, keep: Keep | None = None) -> Iterator[Row]:
        """The rows of a table that the code has made; `keep` gets the events that they become, if they become some."""


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """The options of an output stream: of the write that made its events, and of reads that make columns of them."""

    writes: FrameOptions
    reads: Mapping[str, Any]

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Self:
        """Read the options.

        Raises:
            ConfigurationError: an option is not known, or gives columns that no two writes have in common.
        """
        given = {name.lower(): value for name, value in options.items() if value is not None}
        both = FrameOptions.parse(given)
        if both.metadata:
            raise ConfigurationError(
                f"output_options has {METADATA_COLUMNS_OPTION!r}, but no two writes have their events at one position: "
                "leave it out"
            )
        if both.decode.format.is_changes:
            raise ConfigurationError(
                f"output_options has decode={both.decode.format}, but rows of changes depend on the changes before "
                "them: compare the events, by decode=raw or as JSON"
            )
        writes = {name: value for name, value in given.items() if name in (*_OF_WRITES, *_OF_BOTH)}
        return cls(FrameOptions.parse(writes), {name: value for name, value in given.items() if name not in _OF_WRITES})


@dataclass(frozen=True, slots=True)
class WrittenEvents:
    """A write into a stream, and the options by which its events become rows."""

    write: WrittenThen
    options: OutputOptions
    registry: "SchemaRegistry | None"
    planned: PlannedRead

    @classmethod
    def of(
        cls,
        of: RecordedRange,
        output: StreamName | None,
        write_id: str | None,
        ledger: str | None,
        options: OutputOptions,
        registry: "SchemaRegistry | None",
    ) -> Self:
        """Find what an interval gave then; see `write_of` and `plan_read` for errors."""
        write = write_of(of, output, write_id, ledger)
        planned = plan_read(StreamRange(of.client, write.stream, write.range), None, registry, options.reads)
        if planned.decoding.plan is not None and planned.decoding.plan.kept is not None:
            raise ConfigurationError(
                "output_options has 'on_error', which keeps events that cannot be decoded with their positions, and no "
                "two writes have these in common: leave it out, or say drop"
            )
        return cls(write, options, registry, planned)

    @property
    def output(self) -> str:
        """The stream."""
        return str(self.write.stream)

    @property
    def name(self) -> str:
        """The write id."""
        return self.write.record.write_id

    @property
    def generation(self) -> int:
        """The generation of the write."""
        return self.write.record.generation

    def before(self) -> Iterator[Row]:
        """The rows that were written then."""
        batches = self.planned.scan.batches(None if self._has_columns else [_EVENT])
        return self._rows(batches, f"the events of write {self.name!r} in {self.output}")

    def now(self, made: Any, keep: Keep | None = None) -> Iterator[Row]:
        """The rows of a table that the code has made, as the write would make events of them."""
        events = event_batches(batches_of(made), self.options.writes, self.write.stream, self.registry)
        return self._rows(self._decoded(events, keep), "the events that the code gives")

    @property
    def _has_columns(self) -> bool:
        return self.planned.decoding.plan is not None

    def _rows(self, batches: Iterable[pa.RecordBatch], what: str) -> Iterator[Row]:
        for batch in batches:
            if self._has_columns or self.planned.options.named:
                yield from batch.to_pylist()
            else:
                yield from objects_of(batch.column(_EVENT).to_pylist(), what)

    def _decoded(self, batches: Iterable[EventBatch], keep: Keep | None) -> Iterator[pa.RecordBatch]:
        decoding = self.planned.decoding.within(None, self.planned.options.unit)
        # Events that are nowhere have positions for messages only.
        nowhere, count = SegmentId(self.write.stream, 0, 0), 0
        for batch in batches:
            if keep is not None:
                keep(batch)
            events = pa.array(batch.events, pa.binary())
            if not self._has_columns:
                yield pa.RecordBatch.from_arrays([events], [_EVENT])
                continue
            try:
                yield decoding.batch(events, np.arange(count, count + len(events), dtype=np.int64), nowhere)
            except MalformedEventError as error:
                raise ConfigurationError(
                    f"an event that the code gives cannot be decoded by output_options: {error}. The offset is here "
                    "the number of its row"
                ) from None
            count += len(events)
        decoding.finish(nowhere)
