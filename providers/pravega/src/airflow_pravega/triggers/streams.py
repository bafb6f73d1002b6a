"""The trigger of a sensor for several streams: waits by the triggers of single streams, and for new streams."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from fnmatch import fnmatchcase
from typing import Any, Final

from aiopravega import PravegaClient
from aiopravega.errors import StreamSealedError
from airflow_pravega.polling import PollAnswer, PolledValue, StreamsOf
from airflow_pravega.triggers.next_range import PravegaNextRangeTrigger
from airflow_pravega.triggers.stream_cut import PravegaStreamCutTrigger
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger, events_of

# New streams are looked for more seldom than new events: a scope is listed as a whole.
_SELDOM: Final = 6.0
_KINDS: Final = {kind.__name__: kind for kind in (PravegaNextRangeTrigger, PravegaStreamCutTrigger)}
# A wait that is over for the worst: the sensor has to check at once, whatever the other streams do.
_LATE: Final = "late"


class PravegaStreamsTrigger(PravegaWaitingTrigger):
    """Fires once, when all or any of several streams have moved: `{"status": "moved", "ranges": {stream: range}}`.

    It also fires when the scope has another stream that matches a pattern: `{"status": "streams"}`. All its waits share
    the client and the pollers of the triggerer.

    Args:
        stream: the streams and patterns, for people who read the trigger.
        waits: for each stream that has not moved yet, the class and the arguments of its own trigger.
        wait_for: `all` or `any`.
        scope: the scope in which new streams are looked for; None: in no one.
        patterns: the patterns of their names.
        known: the names that match already.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
        give_up_at: see `PravegaWaitingTrigger`.
    """

    own = ("waits", "wait_for", "scope", "patterns", "known")

    def __init__(
        self,
        *,
        waits: list[tuple[str, dict[str, Any]]],
        wait_for: str,
        scope: str | None,
        patterns: list[str],
        known: list[str],
        **waiting: Any,
    ) -> None:
        super().__init__(**waiting)
        self.waits = waits
        self.wait_for = wait_for
        self.scope = scope
        self.patterns = patterns
        self.known = known

    def polled_value(self, scope: str | None) -> PolledValue[Any]:
        return StreamsOf(self.scope or scope or "")

    async def check(self, client: PravegaClient, answer: PollAnswer[tuple[str, ...]]) -> dict[str, Any] | None:
        return {"status": "streams"} if matching(answer.value, self.patterns) != self.known else None

    async def _first_event(self) -> dict[str, Any]:
        common: dict[str, Any] = {"poll_interval": self.poll_interval, "pravega_conn_id": self.pravega_conn_id}
        waits = [asyncio.create_task(_event_of(_KINDS[kind](**own, **common))) for kind, own in self.waits]
        news = [] if self.scope is None else [asyncio.create_task(self._new_streams())]
        try:
            return await self._first_of(waits, news)
        finally:
            for task in (*waits, *news):
                task.cancel()
            await asyncio.gather(*waits, *news, return_exceptions=True)

    async def _new_streams(self) -> dict[str, Any]:
        async with aclosing(events_of(self, _SELDOM * self.poll_interval)) as events:
            return await anext(events)

    async def _first_of(
        self, waits: list[asyncio.Task[dict[str, Any]]], news: list[asyncio.Task[dict[str, Any]]]
    ) -> dict[str, Any]:
        left, events = {*waits, *news}, list[dict[str, Any]]()
        is_any = self.wait_for == "any"
        while True:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            if any(task in done for task in news):
                return news[0].result()
            for task in done:
                event = task.result()
                is_sealed = event["status"] == "error" and event["error"] == StreamSealedError.__name__
                if event["status"] in ("error", _LATE) and not (is_any and is_sealed):
                    return event
                events.append(event)
            moved = [event for event in events if event["status"] != "error"]
            if is_any and not moved and len(events) == len(waits) and not news:
                return events[0]  # all are sealed too early
            if moved and (is_any or len(moved) == len(waits)):
                ranges = {event["stream"]: _range_in(event) for event in moved if "start" in event}
                return {"status": "moved", "ranges": ranges}


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """The names that match one of some patterns, as names of files do: `*`, `?` and `[…]`; in order."""
    given = list(patterns)
    return sorted(name for name in names if any(fnmatchcase(name, pattern) for pattern in given))


async def _event_of(trigger: PravegaWaitingTrigger) -> dict[str, Any]:
    events = trigger.run()
    event = await anext(events)
    return {**event.payload, "stream": trigger.stream}


def _range_in(event: Mapping[str, Any]) -> dict[str, str]:
    return {"start": event["start"], "end": event["end"]}
