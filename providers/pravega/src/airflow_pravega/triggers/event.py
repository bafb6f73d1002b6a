"""The trigger of the sensor for the content of events: inspects what is written until an event holds."""

from typing import Any

from aiopravega import PravegaClient, StreamCut
from aiopravega.intervals.conditions.tails import Tail
from airflow_pravega.polling import PollAnswer
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger
from pravega_jobs.event_search import EventCondition, EventSearch


class PravegaEventTrigger(PravegaWaitingTrigger):
    """Fires once, when an event holds: `{"status": "found", "pointer": text, "cut": text}`.

    As long as it is behind the tail, it inspects the next part of the stream after each `poll_interval`, and otherwise
    when the stream has moved. A triggerer that starts again begins at `since`.

    Args:
        stream: `scope/stream`.
        since: the text of the cut at which the search continues.
        condition: as `EventCondition.to_json` of `pravega_jobs.event_search` gives it.
        most_events: the most events of one look.
        most_bytes: the most bytes of one look.
        poll_interval: seconds between two checks, at most.
        pravega_conn_id: id of the connection.
        carried: see `PravegaWaitingTrigger`.
        give_up_at: see `PravegaWaitingTrigger`.
    """

    own = ("since", "condition", "most_events", "most_bytes")

    def __init__(
        self, *, since: str, condition: dict[str, Any], most_events: int, most_bytes: int, **waiting: Any
    ) -> None:
        super().__init__(**waiting)
        self.since = since
        self.condition = condition
        self.most_events = most_events
        self.most_bytes = most_bytes
        self._search: EventSearch | None = None

    @property
    def checks_again(self) -> bool:
        """See `PravegaWaitingTrigger`: a part of the stream is left."""
        return self._search is None or self._search.is_behind

    async def check(self, client: PravegaClient, answer: PollAnswer[Tail]) -> dict[str, Any] | None:
        if self._search is None:  # not before: the import of a function may fail
            self._search = EventSearch(
                EventCondition.from_json(self.condition),
                StreamCut.from_text(self.since),
                most_events=self.most_events,
                most_bytes=self.most_bytes,
                log=self.log,
            )
        found = await self._search.look(client, answer.value)
        return None if found is None else {"status": "found", **found.to_json()}
