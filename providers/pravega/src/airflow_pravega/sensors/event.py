"""The sensor that waits for an event with some content, and returns where it is."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from airflow.sdk import Context, PokeReturnValue, XComArg

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.conditions.tails import Tail
from aiopravega.loop import LoopThread
from aiopravega.read.calls import find_cut
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.links import LinkedToStream
from airflow_pravega.sensors.waiting import PravegaWaitingSensor
from airflow_pravega.tasks.arguments import EARLIEST, check_known, is_known, position_of, whole_number
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.triggers.event import PravegaEventTrigger
from pravega_jobs.event_search import EventCondition, EventSearch, FoundEvent, parsed

_MOST_EVENTS: Final = 10_000
_MOST_BYTES: Final = 16 * 1024 * 1024


class PravegaEventSensor(LinkedToStream, PravegaWaitingSensor):
    """Waits until a stream has an event with some content, such as the one that ends a day.

    Returns `{"stream": name, "pointer": text, "cut": text}`: `PravegaClient.fetch(pointer)` gives the event, and a
    sensor with `since=` the cut continues after it: it misses nothing, and does not find the event again. All events
    before the cut were inspected. Events of different routing keys have no order, so of several events that hold, any
    can be found first. Nothing is recorded in the cut ledger.

    The task fails at once if the stream is sealed without such an event, if retention has removed events that were not
    inspected, and if the function raises an error.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        where: comparisons of values in the event's JSON, such as `$.type == 'end' && $.total > 10`; see
            `pravega_jobs.event_search.EventCondition`. (templated)
        function: instead of it, `module:function`: it gets the event's value and returns whether it holds, in a thread
            of the worker or of the triggerer, where it must be importable. (templated)
        decode: what the function gets: `"json"`, the value, or `"bytes"`.
        on_error: the rule for events that are not JSON: `"fail"`, or `"skip"` them, with a warning.
        since: the start: `"earliest"` (the head), `"latest"` (the tail at the first check), the text of a StreamCut, or
            a range, such as another sensor's output, which stands for its end. (templated)
        most_events: the most events that one check inspects. (templated)
        most_bytes: the most bytes that one check inspects, event headers included. (templated)
        deferrable: wait on the triggerer, without a worker slot.
        pravega_conn_id: id of the connection. (templated)
        poll_interval: seconds between two checks while deferred, at most; otherwise `poke_interval` counts.
    """

    template_fields: Sequence[str] = (
        "stream",
        "where",
        "function",
        "since",
        "most_events",
        "most_bytes",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        stream: str,
        where: str | None = None,
        function: str | None = None,
        decode: str = "json",
        on_error: str = "fail",
        since: str | Mapping[str, str] | XComArg = EARLIEST,
        most_events: int | str = _MOST_EVENTS,
        most_bytes: int | str = _MOST_BYTES,
        **kwargs: Any,
    ) -> None:
        super().__init__(stream=stream, **kwargs)
        with failing_for_good():
            known = where if where is None or is_known(where) else "$"
            EventCondition(known, function, decode, on_error)
            if self.reschedule and not self.deferrable:
                raise ConfigurationError(
                    "each check continues after the last one, but in mode 'reschedule' each check is a new process: "
                    "say deferrable=True"
                )
        check_known(where, parsed)
        self.where = where
        self.function = function
        self.decode = decode
        self.on_error = on_error
        self.since = since
        self.most_events = most_events
        self.most_bytes = most_bytes
        self._search: EventSearch | None = None

    def check(self, context: Context) -> PokeReturnValue:
        config = PravegaHook(self.pravega_conn_id).get_config()
        stream = StreamName.parse(self.stream, config.scope)
        self.link_to_stream(context, stream)
        if self.fired is not None and "pointer" in self.fired:
            found = {name: self.fired[name] for name in ("pointer", "cut")}
        else:
            event = LoopThread.shared().run(self._look(config, stream))
            found = {} if event is None else event.to_json()
        search = self._search
        if found:
            self.log.info("An event of %s holds: %s", stream, found["pointer"])
            return PokeReturnValue(True, {"stream": str(stream), **found})
        assert search is not None, "it has looked"
        left = "a part of the stream is left" if search.is_behind else "that is the tail"
        self.log.info("No event of %s holds up to %s (%s): %s", stream, search.cut, left, search.condition)
        if self.deferrable:
            self._search_on(search)
        return PokeReturnValue(False)

    def wait_until_reachable(self) -> None:
        """Defer until the cluster answers again; a search that has begun continues where it is, not at a new tail."""
        if self._search is None:
            super().wait_until_reachable()
        else:
            self._search_on(self._search)

    def _search_on(self, search: EventSearch) -> None:
        """Defer to the trigger that continues the search, and waits while the cluster is away."""
        self.wait_with(
            PravegaEventTrigger,
            self.named_stream(),
            since=search.cut.to_text(),
            condition=search.condition.to_json(),
            most_events=whole_number("most_events", self.most_events),
            most_bytes=whole_number("most_bytes", self.most_bytes),
        )

    async def _look(self, config: PravegaConfig, stream: StreamName) -> FoundEvent | None:
        async with PravegaClient(config) as client:
            if self._search is None:
                position = position_of(self.since, stream)
                start = await find_cut(client, stream, position)
                self._search = EventSearch(
                    EventCondition(self.where, self.function, self.decode, self.on_error),
                    await client.head(stream) if start.is_unbounded else start,
                    most_events=whole_number("most_events", self.most_events),
                    most_bytes=whole_number("most_bytes", self.most_bytes),
                    log=self.log,
                )
            return await self._search.look(client, await Tail.of(client, stream))
