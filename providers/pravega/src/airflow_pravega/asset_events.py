"""Facts in asset events: operators put what they did with a range into `extra`, and tasks downstream get it as ranges.

The facts are plain JSON under one key, with a version. An event is written when its task ends well, and stays in
Airflow's database: so it has the texts of cuts only while they are short.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Self

from airflow.sdk import Asset, AssetAlias, Context
from airflow.sdk.definitions.asset import AssetNameRef, AssetUriRef

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, StreamMadeAgainError
from aiopravega.intervals import what_is_left
from airflow_pravega.assets import PARTITIONS, create_asset, takes_keys

KEY: Final = "pravega"
VERSION: Final = 1
# Characters of both texts: cuts of about 3,000 segments. XComs have no such limit, but Airflow keeps events longer.
MOST_CHARACTERS: Final = 64 * 1024
_SCHEME: Final = "pravega://"
_NAMES: Final = ("consumer", "interval", "since", "until")

Facts = dict[str, Any]


class Kind(StrEnum):
    """The work of a task on a range: WRITE is about the range that it wrote, the others about the one that it took."""

    WRITE = "write"
    LAND = "land"
    MERGE = "merge"
    TAKE = "take"


def written(result: Mapping[str, Any], given: object = None) -> Facts:
    """The facts of a write to a stream, by the result of its operator.

    Args:
        result: as `PravegaSparkWriteOperator` returns it.
        given: the range that the written rows were made of, which may name an interval; None: they come from elsewhere.
    """
    cuts = result["cuts"] and StreamCutRange.from_json(result["cuts"])
    names = {"rows": "events"} | {name: name for name in ("bytes", "write_id", "generation", "errors", "first_error")}
    known = {name: result.get(key) for name, key in names.items()}
    return _facts(Kind.WRITE, StreamName.parse(result["stream"]), cuts, given, known)


def took(stream: StreamName, cuts: StreamCutRange, given: object, kind: Kind = Kind.TAKE, **known: Any) -> Facts:
    """The facts of a task that has taken a range; `given` is its argument for the range, which may name an interval."""
    return _facts(kind, stream, cuts, given, known)


def tell(context: Context, *facts: Facts) -> None:
    """Put facts into the events of a task's outlets.

    The asset of a stream gets the facts about this stream. Another asset, such as that of a table, gets the first
    facts. An alias becomes the asset of the stream that the task has written.

    If the `extra` of an asset has `pravega_partitions`, a format such as `%Y-%m-%dT%H`, the event is of the partition
    that the event times of the range begin, in UTC. Airflow 3.3 takes such keys.
    """
    task = context.get("task")
    if task is None:
        return  # an operator that is called outside a task has no events
    for outlet in task.outlets:
        if isinstance(outlet, AssetAlias):
            found = next((each for each in facts if each["kind"] == Kind.WRITE), None)
            if found is not None:
                name = StreamName.parse(found["stream"])
                asset = create_asset(scope=name.scope, stream=name.stream)
                context["outlet_events"][outlet].add(asset, extra={KEY: found})
        elif isinstance(outlet, Asset | AssetNameRef | AssetUriRef):
            of_stream = (uri := str(getattr(outlet, "uri", ""))).startswith(_SCHEME)
            found = next((each for each in facts if not of_stream or uri == f"{_SCHEME}{each['stream']}"), None)
            if found is not None:
                event = context["outlet_events"][outlet]
                event.extra[KEY] = _together(event.extra.get(KEY), found)
                _put_partition(event, outlet, found, task.log)
        else:
            continue  # outlets of other kinds have no events
        if found is None:
            streams = ", ".join(sorted({each["stream"] for each in facts}))
            task.log.warning("The event of the outlet %s says nothing: this task has worked on %s", outlet, streams)


def _together(known: Any, found: Facts) -> Facts:
    """The facts of an event that may have some already: of several ranges none is the event's."""
    if not known or all(known.get(name) == found.get(name) for name in ("stream", "start", "end")):
        return found
    reason = "its task has worked on several ranges: make a task of each, or take them from the ledger"
    return {name: found[name] for name in ("version", "kind", "stream")} | {"no_cuts": reason}


def _put_partition(event: Any, outlet: object, facts: Facts, log: Any) -> None:
    form = (getattr(outlet, "extra", None) or {}).get(PARTITIONS)
    if form is None:
        return
    if "since" not in facts:
        log.warning("The event of the outlet %s has no partition: the range has no event times", outlet)
    elif not takes_keys():  # a function of a plain `@task`: operators of this provider are refused
        log.warning("The event of the outlet %s has no partition: only Airflow 3.3 and newer take keys", outlet)
    else:
        event.add_partitions(datetime.fromisoformat(facts["since"]).astimezone(UTC).strftime(form))


@dataclass(frozen=True, slots=True)
class EventRange:
    """The facts in an asset event.

    Attributes:
        kind: what the task did with the range.
        stream: the stream.
        range: the range that was written or taken.
        rows: the number of rows that the task wrote, landed, merged or read, as far as it knows.
        bytes: the bytes of the range, event headers included.
        consumer: the consumer whose interval the task has processed.
        interval: the name of this interval.
        times: its event times; the end is not included.
        write_id: the name of a write.
        generation: of the write or the landing.
        table: the text of the table that has the rows.
        errors: the number of events that could not be decoded, if they are kept.
    """

    kind: Kind
    stream: StreamName
    range: StreamCutRange
    rows: int | None
    bytes: int | None
    consumer: str | None
    interval: str | None
    times: tuple[datetime, datetime] | None
    write_id: str | None
    generation: int | None
    table: str | None
    errors: int | None = None

    def to_json(self) -> dict[str, str]:
        """The range as `stream_cuts` of an operator, without its interval, which belongs to the task of the event."""
        texts = self.range.to_json()
        if self.times is not None and self.kind is not Kind.WRITE:
            texts |= {name: time.isoformat() for name, time in zip(("since", "until"), self.times, strict=True)}
        return texts

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Read facts of this version that have cuts.

        Raises:
            ValueError: a value is not what it must be.
        """
        stream, cuts = StreamName.parse(facts["stream"]), StreamCutRange.from_json(facts)
        if cuts.stream != stream:
            raise ConfigurationError(f"its cuts are of {cuts.stream}, and it is about {stream}")
        times = (facts["since"], facts["until"]) if {"since", "until"} <= facts.keys() else None
        return cls(
            Kind(facts["kind"]),
            stream,
            cuts,
            facts.get("rows"),
            facts.get("bytes"),
            facts.get("consumer"),
            facts.get("interval"),
            times and (datetime.fromisoformat(times[0]), datetime.fromisoformat(times[1])),
            facts.get("write_id"),
            facts.get("generation"),
            facts.get("table"),
            facts.get("errors"),
        )


def range_of_event(event: Any, client: PravegaClient | None = None) -> EventRange:
    """The facts in an asset event, as a range.

    Args:
        event: of `inlet_events[asset]` or `triggering_asset_events[asset]`.
        client: a connected client, which is asked whether the stream is still the one of the event. Without it, the
            read of the range asks.

    Raises:
        ConfigurationError: no operator of this provider has made the event, or it has no cuts; the message says why.
        StreamMadeAgainError: the stream of the event was deleted, and another one has its name.
        PravegaError: the cluster cannot be asked.
    """
    extra, about = event.extra or {}, f"the event of {event.asset.uri}"
    facts = extra.get(KEY)
    if not isinstance(facts, Mapping):
        made = (
            "a trigger has made it, which only wakes: take the range by PravegaStreamCutSensor"
            if extra.get("from_trigger")
            else "no operator of the Pravega provider has made it: leave such events out by `'pravega' in event.extra`"
        )
        raise ConfigurationError(f"{about} names no range: {made}")
    if facts.get("version") != VERSION:
        raise ConfigurationError(
            f"{about} has the version {facts.get('version')!r}, and this release reads version {VERSION}: install the "
            "release of the provider that has made it"
        )
    if "no_cuts" in facts:
        raise ConfigurationError(f"{about} about {facts.get('stream')} has no cuts: {facts['no_cuts']}")
    try:
        found = EventRange.of(facts)
    except (LookupError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{about} cannot be read: {type(error).__name__}: {error}") from error
    if client is not None:
        left = client.run(what_is_left(client.asynchronous, found.range.start, found.range.end))
        if left.made_again is not None:
            raise StreamMadeAgainError(
                f"{left.made_again}; {about} belongs to the deleted one, so that its range cannot be read any more",
                left.made_again,
            )
    return found


def ranges_of_events(events: Iterable[Any], client: PravegaClient | None = None) -> list[EventRange]:
    """The facts in asset events, in the order of the events: see `range_of_event`.

    Raises:
        ConfigurationError: one of the events is not of an operator of this provider, or has no cuts.
        StreamMadeAgainError: the stream of one was deleted, and another one has its name.
        PravegaError: the cluster cannot be asked.
    """
    return [range_of_event(event, client) for event in events]


def union_of_events(events: Iterable[Any], client: PravegaClient) -> EventRange:
    """The ranges of several intervals of event times as one range: a day, by the events of its hours.

    Args:
        events: as `ranges_of_events` takes them, of one stream, in any order. An interval may have several events, as
            after late ones.
        client: a connected client.

    Returns:
        The range from the first of all cuts to the last one, with `times` from the first to the last. It has all
        events of these times, and may have others.

    Raises:
        ConfigurationError: there are no events, they are of several streams or of writes, one has no event times, or
            there are times between them that no event has; or an event is refused, as by `ranges_of_events`.
        StreamMadeAgainError: the stream of one was deleted, and another one has its name.
        PravegaError: the cluster cannot be asked.
    """
    found = ranges_of_events(events, client)
    names = sorted({str(each.stream) for each in found})
    if len(names) != 1:
        raise ConfigurationError(f"events of one stream have a union, and these are of {' and '.join(names) or 'none'}")
    if any(each.kind is Kind.WRITE for each in found):
        raise ConfigurationError(
            f"writes to {names[0]} have no union, since others may have written between them: read each of "
            "ranges_of_events"
        )
    times = sorted(each.times for each in found if each.times is not None)
    if len(times) != len(found):
        raise ConfigurationError(f"an event of {names[0]} has no event times: take ranges by PravegaEventTimeSensor")
    since, until = times[0]
    for start, end in times:
        if start > until:
            raise ConfigurationError(f"no event has the times from {until.isoformat()} to {start.isoformat()}")
        until = max(until, end)
    starts, ends = [each.range.start for each in found], [each.range.end for each in found]
    history = client.run(client.asynchronous.arithmetic.history([*starts, *ends]))
    cuts = StreamCutRange(history.earliest(starts), history.latest(ends))
    nothing = dict.fromkeys(("rows", "bytes", "consumer", "interval", "write_id", "generation", "table"))
    return EventRange(Kind.TAKE, found[0].stream, cuts, times=(since, until), **nothing)


def _facts(
    kind: Kind,
    stream: StreamName,
    cuts: StreamCutRange | None,
    given: object,
    known: Mapping[str, Any],
) -> Facts:
    names = given if isinstance(given, Mapping) else {}
    facts: Facts = {"version": VERSION, "kind": kind.value, "stream": str(stream), **_cut_texts(cuts)}
    facts |= {name: str(names[name]) for name in _NAMES if name in names}
    facts |= {name: value for name, value in known.items() if value is not None}
    return facts


def _cut_texts(cuts: StreamCutRange | None) -> dict[str, str]:
    """The texts of a range; of a long one, or of none, the reason why there are none."""
    if cuts is None:
        return {"no_cuts": "the account of the task may not ask for the cuts of its write"}
    texts = cuts.to_json()
    size = sum(map(len, texts.values()))
    if size <= MOST_CHARACTERS:
        return texts
    return {
        "no_cuts": f"their texts have {size:,} characters for {len(cuts.end.positions):,} segments, and an event has "
        f"at most {MOST_CHARACTERS:,}: take the range from the XCom of the task, or from the ledger by the interval "
        "or the write id"
    }
