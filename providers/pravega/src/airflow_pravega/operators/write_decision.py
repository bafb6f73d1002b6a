"""The operator that asks people about exactly-once writes that are half visible, and that nobody can finish."""

from collections.abc import Sequence
from typing import Any, Final

from airflow.sdk import Context

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.bounded import each
from aiopravega.errors import TableNotFoundError
from aiopravega.ledger import CommitState
from aiopravega.ledger.commits.recovery import Inspection, Resolution, Standing, finish_stored, resolve
from aiopravega.ledger.commits.verdict import inside
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.operators.decision import LEAVE, LEAVING, MOST_ASKED, DecisionOperator, effects_of, table_of
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.asking import Decision, Question, author_of
from pravega_jobs.maintenance import NEEDS_A_PERSON, named_ledger

ACCEPT: Final = "Accept what is there"
ALL_THERE: Final = "All of it is there"
AGAIN: Final = "Write it again"
_RESOLUTIONS: Final = {ACCEPT: Resolution.ACCEPT, ALL_THERE: Resolution.DONE, AGAIN: Resolution.FORGET}
_EFFECTS: Final = {
    ACCEPT: "the write is done with the partitions that are in the stream; the others are never written",
    ALL_THERE: "the write is done with all partitions: you have read the stream, and they are there",
    AGAIN: "the write is forgotten: its next run writes all rows. What is in the stream stays there: readers see these "
    "rows twice, unless you remove them downstream",
    LEAVE: LEAVING,
}
_AT_ONCE: Final = 4


class PravegaWriteDecisionOperator(DecisionOperator):
    """Asks people about writes that are visible in part, or perhaps, and that only the same write or people can mend.

    It first finishes what can be finished. It asks with each write, its attempt, and how much of it is in its stream,
    by partitions, events and bytes; what was chosen is done for all of these writes. Nothing is asked if there are
    none. Writes that the controller no longer knows have other choices: the question is about them when no others are
    left.

    Returns `{"decision", "resolved", "left"}`: the choice, with who has made it and when, None: nothing had to be
    decided; the names of the writes that it was done for; and of those that the next run asks about.

    Args:
        ledger: `scope/table` of the ledger, or a scope, for its ledger with the default name; by default the ledger of
            the connection's default scope. (templated)
        stream: only writes to this stream. (templated)
        write_id: only writes with this id. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("ledger", "stream", "write_id", "pravega_conn_id")
    choices = tuple(_EFFECTS)

    def __init__(
        self,
        *,
        ledger: str | None = None,
        stream: str | None = None,
        write_id: str | None = None,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(pravega_conn_id=pravega_conn_id, **kwargs)
        if stream is not None:
            check_stream(stream)
        self.ledger = ledger
        self.stream = stream
        self.write_id = write_id
        self._asked: list[Inspection] = []
        self._left: list[Inspection] = []

    def question(self, client: PravegaClient, context: Context) -> Question | None:
        """The writes with what of them is in the streams."""
        del context
        found = client.run(self._look(client))
        partial = [write for write in found if write.standing is Standing.PARTIAL]
        self._asked = (partial or found)[:MOST_ASKED]
        self._left = [write for write in found if write not in self._asked]
        if not self._asked:
            return None
        heads = ("write", "attempt", "decided", "by", "in the stream", "not in the stream", "not known")
        choices = (ACCEPT, AGAIN, LEAVE) if partial else (ACCEPT, ALL_THERE, AGAIN, LEAVE)
        left = f"{len(self._left)} other writes are asked about when these are decided.\n\n" if self._left else ""
        body = f"{table_of(heads, [_row(write) for write in self._asked])}\n\n{left}" + effects_of(
            {choice: _EFFECTS[choice] for choice in choices}
        )
        what = "half visible" if partial else "not known any more"
        return Question(f"Writes that are {what}: {len(self._asked)}", body, choices)

    def act(self, client: PravegaClient, decision: Decision, context: Context) -> dict[str, Any]:
        """Resolve the writes."""
        resolution, by = _RESOLUTIONS[decision.choice], author_of(decision, context)
        asynchronous = client.asynchronous
        ledger = asynchronous.commit_ledger(*named_ledger(self.ledger, client.config))
        for write in self._asked:
            client.run(resolve(asynchronous.controller, ledger, write, resolution, by=by))
        return {"resolved": [_name(write) for write in self._asked], "left": [_name(write) for write in self._left]}

    async def _look(self, client: PravegaClient) -> list[Inspection]:
        asynchronous = client.asynchronous
        ledger = asynchronous.commit_ledger(*named_ledger(self.ledger, client.config))
        stream = None if self.stream is None else StreamName.parse(self.stream, client.config.scope)
        try:
            prepared = [
                stored
                async for stored in ledger.records()
                if stored.record.state is CommitState.PREPARED
                and (stream is None or stream in stored.record.streams)
                and self.write_id in (None, stored.record.write_id)
            ]
        except TableNotFoundError:
            return []
        finish = ledger.protocol().finish
        found = await each(lambda stored: finish_stored(asynchronous.controller, finish, stored), prepared, _AT_ONCE)
        return [write for write in found if write.standing in NEEDS_A_PERSON]


def _name(write: Inspection) -> str:
    return write.record.name


def _row(write: Inspection) -> tuple[object, ...]:
    record, there = write.record, inside(write.states)
    unknown = {part for part, state in write.states.items() if state.name == "UNKNOWN"}

    def amount(partitions: set[int]) -> str:
        parts = [part for part in record.partitions if part.partition in partitions]
        events, size = sum(part.events for part in parts), sum(part.bytes for part in parts)
        return f"{len(parts)} of {len(record.partitions)} partitions, {events:,} events, {size:,} bytes"

    return (
        record.name,
        record.attempt,
        record.prepared_at.isoformat(timespec="seconds"),
        record.by,
        amount(set(there)),
        amount(set(write.states) - there - unknown),
        amount(unknown),
    )
