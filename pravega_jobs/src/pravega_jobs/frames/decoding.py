"""Decoding of events into columns without Spark: plans of `pravega_jobs.decoding`, for one stream in this process."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega import StreamName, TimeUnit
from aiopravega.blocking import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId
from pravega_jobs.decoding.event_times import WithinPlan, within
from pravega_jobs.decoding.options import DecodeOptions, Format, OnError, RegistryOptions
from pravega_jobs.decoding.plan import Decoder
from pravega_jobs.error_rows import KEPT
from pravega_jobs.frames.options import FrameOptions
from pravega_jobs.frames.position_columns import PositionColumns
from pravega_jobs.spark.options import TIME_OPTION

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry
    from pravega_jobs.decoding.changes import ChangesPlan
    from pravega_jobs.decoding.typed import TypedPlan

Times: TypeAlias = tuple[datetime, datetime]
_RAW_TEXT: Final = "no schema: the events as they are"


@dataclass(frozen=True, slots=True)
class Decoding:
    """The columns of a read, and the plan that makes them of events; `plan` is None: events stay as they are.

    `described` is a text for people. `time` is the column of the event times, and `only` the plan for an interval of
    them.
    """

    plan: "TypedPlan | ChangesPlan | None"
    positions: PositionColumns
    described: str
    on_error: OnError = OnError.FAIL
    time: str | None = None
    only: WithinPlan | None = None
    # A decoder counts and remembers, so that each segment has its own; those that no thread uses at the moment.
    _decoders: dict[SegmentId, list[Decoder]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        fields = [] if self.plan is None else list(self.plan.schema)
        name = None if self.plan is None else self.plan.kept
        kept = [] if name is None else [pa.field(name, KEPT[name])]
        return pa.schema([*fields, *self.positions.fields, *kept])

    def batch(self, events: pa.BinaryArray, offsets: npt.NDArray[np.int64], segment: SegmentId) -> pa.RecordBatch:
        """The rows of some events of a segment; `offsets` are their offsets in bytes.

        Raises:
            MalformedEventError: an event cannot be decoded, and `on_error` is `fail`.
            PravegaError: the registry cannot be asked.
        """
        if self.plan is None:
            return pa.RecordBatch.from_arrays(
                self.positions.columns(events, offsets, segment, None), schema=self.schema
            )
        idle = self._decoders.setdefault(segment, [])
        try:
            decoder = idle.pop()
        except IndexError:
            decoder = (self.only or self.plan).decoder()
        decoded = decoder.decode(events, offsets, segment)
        idle.append(decoder)
        columns = [*decoded.columns, *self.positions.columns(events, offsets, segment, decoded.taken)]
        if self.plan.kept is not None:
            columns.append(decoded.kept)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def finish(self, segment: SegmentId) -> None:
        """Log at the end of a part of a segment the events that were dropped, or have no row."""
        decoders = self._decoders.pop(segment, [])
        for other in decoders[1:]:
            decoders[0].add(other)
        for decoder in decoders[:1]:
            decoder.finish(segment)

    def within(self, times: Times | None, unit: TimeUnit) -> Self:
        """The decoding of the rows with `times[0] <= time < times[1]`, for one read; None: of all rows.

        Args:
            times: the interval.
            unit: of times that are whole numbers.

        Raises:
            ConfigurationError: there is no column of times, it has another type, or `on_error` keeps malformed events.
        """
        if times is None:
            return replace(self, _decoders={})
        if self.time is None:
            raise ConfigurationError(
                "the range was taken for event times and has events of other times, too: name the column of the times "
                f"by the option {TIME_OPTION}"
            )
        start, end = times
        only = within(
            self.plan, self.time, lambda own: (own.first_number(start), own.first_number(end)), unit, self.on_error
        )
        return replace(self, only=only, _decoders={})


def decoding_of(
    options: FrameOptions,
    stream: StreamName,
    registry: "SchemaRegistry | None",
    client: PravegaClient | None = None,
    ranges: Sequence[StreamCutRange] = (),
) -> Decoding:
    """The decoding of a stream's events, by the options and the registry.

    Args:
        options: of the read.
        stream: the stream.
        registry: a client of the registry. It has the schemas unless options give a schema, columns, or another
            registry; without the option `decode`, events become columns if it has a group for the stream.
        client: of the cluster: for a registry that the options name, and for change events that have their schemas
            with them.
        ranges: the ranges to read, with both ends fixed: change events with schemas are searched for the newest one.

    Raises:
        ConfigurationError: no schema is known, or it cannot become columns.
        GroupNotFoundError: the options need a schema of the registry, which has no group for the stream.
        PravegaError: the registry or the cluster cannot be asked.
    """
    chosen = _chosen(options, stream, registry)
    if chosen.format is Format.RAW:
        return Decoding(None, PositionColumns.of(options.metadata, options.prefix, None), _RAW_TEXT, time=options.time)
    # The modules of formats and of the registry are many, and are imported for events that become columns only.
    from pravega_jobs.decoding.planning import decode_plan, named_columns
    from pravega_jobs.decoding.registries import registered_groups

    about: tuple[str, ...] = ()
    others = options.metadata
    if chosen.format.is_changes:
        # The modules of changes are many, and are imported for changes only.
        from pravega_jobs.decoding.change_planning import about_changes, change_plan

        about, others = about_changes(options.metadata)
    source = _source(chosen, registry, client)
    own = {options.prefix + name for name in others} | KEPT.keys()
    given = None if chosen.columns is None else named_columns(chosen, options.metadata)
    if given is not None:
        given = pa.schema([field for field in given if field.name.lower() not in own])
    plan: TypedPlan | ChangesPlan
    if chosen.format.is_changes:
        plan = change_plan(
            chosen,
            about,
            given,
            lambda: _newest(chosen, client, ranges),
            lambda: registered_groups(chosen, source, [stream]),
        )
        described = f"the rules of {'Canal' if plan.by_canal else 'Debezium'}'s change events"
    else:
        plan = decode_plan(chosen, source, [stream], given)
        described = _described(plan, stream, chosen)
    positions = PositionColumns.of(others, options.prefix, plan)
    return Decoding(plan, positions, described, chosen.on_error, options.time)


def _chosen(options: FrameOptions, stream: StreamName, registry: "SchemaRegistry | None") -> DecodeOptions:
    """The options with the registry, if it has to be asked; raw if there is nothing to decode by."""
    decode = options.decode
    if options.named:
        of_events = decode.format in (Format.RAW, Format.DEBEZIUM, Format.CANAL)
        asks = decode.schema is None and decode.columns is None and not of_events
        return replace(decode, registry=options.registry) if asks and registry is not None else decode
    if registry is None:
        if decode != DecodeOptions(format=Format.AUTO):
            raise ConfigurationError(
                "there are options of decoded events, but they are read raw: give option 'decode' "
                f"({', '.join(Format)}) or a registry, or leave them out"
            )
        return DecodeOptions()
    from aiopravega.schema.open import GroupAddress, find_group

    address = GroupAddress.of_stream(stream, options.registry.group, options.registry.namespace)
    found = registry.run(find_group(registry.asynchronous, address))
    return DecodeOptions() if found is None else decode


def _source(
    options: DecodeOptions, registry: "SchemaRegistry | None", client: PravegaClient | None
) -> "PravegaConfig | SchemaRegistry":
    asked = options.registry or RegistryOptions()
    if registry is None:
        return PravegaConfig() if client is None else client.asynchronous.config
    if replace(asked, group=None, namespace=None) != RegistryOptions():
        raise ConfigurationError(
            "there is a registry, and there are options with the address or the credentials of one: give one of the two"
        )
    return registry


def _newest(options: DecodeOptions, client: PravegaClient | None, ranges: Sequence[StreamCutRange]) -> str:
    if client is None or not ranges:
        raise ConfigurationError(
            "the columns of change events are not known without a range: give option 'columns' or 'schema_text'"
        )
    from pravega_jobs.merging.newest_change import newest_schema

    return newest_schema(client, ranges, options.changes.table if options.changes else None)


def _described(plan: "TypedPlan", stream: StreamName, options: DecodeOptions) -> str:
    if plan.registered is not None:
        return f"group {plan.registered.groups[stream].group!r} of the registry ({plan.target.format})"
    return f"the given {'schema' if options.columns is None else 'columns'} ({plan.target.format})"
