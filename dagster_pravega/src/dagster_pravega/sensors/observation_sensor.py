"""A sensor that observes many streams in one tick, without a run: of those that stand it reports nothing.

Its cursor has the state of each stream when it was last seen. A tick that ends before all streams were asked says in
the cursor where the next one continues.
"""

import asyncio
import base64
import binascii
import contextlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Self

import dagster as dg
from dagster import AssetSpec

from aiopravega import PravegaClient, StreamName, TimeUnit
from aiopravega.errors import ConfigurationError, PravegaError, PravegaTimeoutError
from aiopravega.intervals.reports.stream_state import Observation, StreamState, look_at, observe
from dagster_pravega.metadata.measures import cut_version, observed_metadata
from dagster_pravega.metadata.spec import options_of, pravega_stream_spec, stream_of
from dagster_pravega.partitions.event_time_windows import unit_of
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.ticks import ask_in_tick, cluster_sensor

# Streams that are asked side by side.
_AT_ONCE: Final = 32
# No stream is begun after this time, and those that have not answered after the second one come in the next round.
_BEGIN_SECONDS: Final = 14.0
_ANSWER_SECONDS: Final = 19.0
_LAYOUT: Final = 1
# The log names so many streams that could not be asked.
_MOST_NAMED: Final = 5
_VERSION_TAG: Final = "dagster/data_version"


def build_observation_sensor(
    name: str,
    *,
    streams: Sequence[AssetSpec | str],
    consumers: Mapping[str, str | Sequence[str]] | None = None,
    event_times: bool = False,
    count_to: int = 0,
    as_materializations: bool = True,
    resource_key: str = "pravega",
    minimum_interval_seconds: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """A sensor that observes streams that are written outside Dagster: hundreds in one tick, without a run.

    A stream that was written since the last tick, or is seen for the first time, is reported as a materialization of
    its asset, as Dagster's own freshness policies and conditions of automation want it of external assets. Its data
    version is the tail. If only a consumer's lag has changed, that is reported as an observation. A stream that stands
    is not reported. The metadata are cuts, readable bytes, new bytes, and the time of the last write
    (`dagster/last_updated_timestamp`), which is exact to the time between two ticks.

    A stream that stands costs two requests for each segment of its tail. A tick begins no stream after 14 s; the next
    one continues. If the cluster does not answer, a tick is skipped, with the host and the error as the reason. Streams
    that alone cannot be asked are warnings in the log of the tick.

    Args:
        name: of the sensor.
        streams: specs of `pravega_stream_spec` or `build_external_assets`, which also belong among the assets of the
            `Definitions`; or `scope/stream`, for assets with the keys of `pravega_stream_spec`.
        consumers: by `scope/stream`, consumers of the cut ledger whose lag is wanted, in bytes and seconds. It costs a
            request for each page of their intervals, and two more for each stream in each tick.
        event_times: also report up to which event time the stream is complete, by its last watermark, when it was
            written. It costs five requests or more.
        count_to: the most new events that are counted, by reading them; 0: no event is read.
        as_materializations: False reports writes as observations, which freshness policies of Dagster do not see.
        resource_key: of the `PravegaResource`.
        minimum_interval_seconds: between two ticks.
        default_status: `RUNNING` starts the sensor when the code location is loaded.

    Raises:
        ConfigurationError: a spec names no stream, an asset is given twice, or consumers are of a stream that is not
            observed.
    """
    if count_to < 0:
        raise ConfigurationError(f"count_to is {count_to}, but must be at least 0")
    watched = _watched(streams, consumers or {}, event_times=event_times)

    @cluster_sensor(
        name, None, {resource_key}, minimum_interval_seconds, default_status, f"Observes {len(watched)} streams."
    )
    def observation(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        resource: PravegaResource = getattr(context.resources, resource_key)
        cursor = _Cursor.read(context.cursor, watched)
        answer = ask_in_tick(resource, partial(_ask_all, watched=cursor.ordered(watched), seen=cursor, count=count_to))
        if isinstance(answer, dg.SkipReason):
            return answer
        _log(context, answer, len(watched))
        events: list[dg.AssetMaterialization | dg.AssetObservation] = []
        for one in watched:
            found = answer.answers.get(one.key)
            if found is not None:
                last = cursor.seen.get(one.key)
                events += _events(one, last, found, as_materializations=as_materializations)
                cursor.seen[one.key] = _Seen.of(found)
        cursor.next = answer.next
        if events:
            return dg.SensorResult(asset_events=events, cursor=cursor.text())
        reason = f"none of {len(answer.answers)} streams was written since it was last seen"
        return dg.SensorResult(skip_reason=reason, cursor=cursor.text())

    return observation


@dataclass(frozen=True, slots=True)
class _Watched:
    """A stream that is observed, and its asset."""

    key: str
    spec: AssetSpec
    stream: StreamName
    consumers: Sequence[str]
    unit: TimeUnit | None


def _watched(
    streams: Sequence[AssetSpec | str], consumers: Mapping[str, str | Sequence[str]], *, event_times: bool
) -> list[_Watched]:
    named = {
        StreamName.parse(stream): (given,) if isinstance(given, str) else tuple(given)
        for stream, given in consumers.items()
    }
    watched: dict[str, _Watched] = {}
    for given in streams:
        spec = pravega_stream_spec(given) if isinstance(given, str) else given
        stream = StreamName.parse(stream_of(spec.key, spec.metadata))
        key = spec.key.to_user_string()
        if key in watched:
            raise ConfigurationError(f"asset {key} is observed twice: give each stream once")
        unit = unit_of(options_of(spec.metadata)) if event_times else None
        watched[key] = _Watched(key, spec, stream, named.get(stream, ()), unit)
    unknown = sorted(str(stream) for stream in named.keys() - {one.stream for one in watched.values()})
    if unknown:
        raise ConfigurationError(f"consumers of {', '.join(unknown)} are given, but these streams are not observed")
    return list(watched.values())


@dataclass(frozen=True, slots=True)
class _Seen:
    """A stream when it was last seen, and the lags of its consumers then: bytes, and whether events were lost."""

    state: StreamState
    lags: Mapping[str, Sequence[Any]]

    @classmethod
    def of(cls, found: Observation | StreamState) -> Self:
        if isinstance(found, StreamState):
            return cls(found, {})
        return cls(found.state, {name: [lag.size, lag.lost is not None] for name, lag in found.lags.items()})


@dataclass(slots=True)
class _Cursor:
    """The knowledge from earlier ticks: the streams, and the asset with which this tick begins."""

    seen: dict[str, _Seen] = field(default_factory=dict)
    next: str | None = None

    @classmethod
    def read(cls, text: str | None, watched: Sequence[_Watched]) -> Self:
        """Read a cursor; one that is not understood starts again. Assets that are not observed now are left out."""
        try:
            plain = json.loads(zlib.decompress(base64.b64decode(text or "", validate=True)))
            if plain["layout"] != _LAYOUT:
                return cls()
            seen = {}
            for one in watched:
                stream, state, lags = plain["seen"].get(one.key, (None, None, None))
                if stream == str(one.stream):
                    seen[one.key] = _Seen(StreamState.from_json(one.stream, state), lags)
            return cls(seen, plain["next"])
        except (binascii.Error, zlib.error, ValueError, TypeError, KeyError, PravegaError):
            return cls()

    def text(self) -> str:
        """The text for Dagster, packed: MySQL keeps 64 kB, and five hundred names and cuts are about so long."""
        seen = {
            key: [str(one.state.tail.stream), one.state.to_json(), dict(one.lags)] for key, one in self.seen.items()
        }
        plain = json.dumps({"layout": _LAYOUT, "next": self.next, "seen": seen}, separators=(",", ":"))
        return base64.b64encode(zlib.compress(plain.encode())).decode()

    def ordered(self, watched: Sequence[_Watched]) -> list[_Watched]:
        """The streams in the order of this tick."""
        first = next((at for at, one in enumerate(watched) if one.key == self.next), 0)
        return [*watched[first:], *watched[:first]]


@dataclass(slots=True)
class _Answers:
    """The answers of one tick by the keys of assets, the errors, and the asset with which the next tick begins."""

    answers: dict[str, Observation | StreamState] = field(default_factory=dict)
    errors: dict[str, PravegaError] = field(default_factory=dict)
    next: str | None = None


async def _ask_all(client: PravegaClient, *, watched: Sequence[_Watched], seen: _Cursor, count: int) -> _Answers:
    """Ask for as many streams as the time of a tick allows.

    Raises:
        PravegaError: none has answered.
    """
    found, clock = _Answers(), asyncio.get_running_loop().time
    end, waiting = clock() + _BEGIN_SECONDS, list(reversed(watched))

    async def ask() -> None:
        begun = False  # at least one each, so that every tick gets on
        while waiting and not (begun and clock() >= end):
            one, begun = waiting.pop(), True
            last = seen.seen.get(one.key)
            try:
                found.answers[one.key] = await _ask(client, one, None if last is None else last.state, count)
            except PravegaError as error:
                found.errors[one.key] = error

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_ANSWER_SECONDS):
            await asyncio.gather(*(ask() for _ in range(_AT_ONCE)))
    found.next = waiting[-1].key if waiting else None
    if watched and not found.answers:
        for error in found.errors.values():
            if error.retryable:
                raise error
        if not found.errors:
            raise PravegaTimeoutError(f"none of {len(watched)} streams was answered for within {_ANSWER_SECONDS:g} s")
    return found


async def _ask(client: PravegaClient, one: _Watched, last: StreamState | None, count: int) -> Observation | StreamState:
    if last is not None and not one.consumers:
        state = await look_at(client, one.stream, last)
        if state.tail == last.tail:
            return state
    return await observe(client, one.stream, last, consumers=one.consumers, count_to=count, unit=one.unit)


def _events(
    one: _Watched, last: _Seen | None, found: Observation | StreamState, *, as_materializations: bool
) -> list[dg.AssetMaterialization | dg.AssetObservation]:
    """The event of an asset, if anything has changed."""
    if isinstance(found, StreamState):
        return []
    written = last is None or last.state.tail != found.state.tail
    if not written and last is not None and last.lags == _Seen.of(found).lags:
        return []
    kind = dg.AssetMaterialization if written and as_materializations else dg.AssetObservation
    tags = {_VERSION_TAG: cut_version(found.state.tail).value}
    return [kind(one.spec.key, metadata=observed_metadata(found), tags=tags)]


def _log(context: dg.SensorEvaluationContext, answer: _Answers, of: int) -> None:
    if answer.next is not None:
        asked = len(answer.answers) + len(answer.errors)
        context.log.info("%s of %s streams were asked within the time of a tick; the next continues", asked, of)
    for key, error in list(answer.errors.items())[:_MOST_NAMED]:
        context.log.warning("%s cannot be observed: %s: %s", key, type(error).__name__, error)
    more = len(answer.errors) - _MOST_NAMED
    if more > 0:
        context.log.warning("%s more streams cannot be observed", more)
