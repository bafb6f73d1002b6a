"""The operator that asks people about ranges of a consumer that are lost, have failed, or are open for too long."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from airflow.sdk import Context

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import count_events, find_skips, skip
from aiopravega.errors import TableNotFoundError
from aiopravega.intervals import Skips
from aiopravega.intervals.chain.losses import bytes_between
from aiopravega.ledger import ClaimantState, CutRecord, IntervalState
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.links import LinkedToStream
from airflow_pravega.operators.decision import LEAVE, LEAVING, MOST_ASKED, DecisionOperator, effects_of, table_of
from airflow_pravega.tasks.arguments import check_known, check_stream
from airflow_pravega.tasks.asking import Decision, Question, author_of
from airflow_pravega.tasks.claimants import Judge, claimant_of, clear_run, why_not_cleared
from airflow_pravega.tasks.identity import check_consumer, deployed_name

ACCEPT: Final = "Accept the loss"
AGAIN: Final = "Run again"
SKIP: Final = "Skip"
ACCEPT_AGAIN: Final = "Accept the loss, and run the others again"
ACCEPT_SKIP: Final = "Accept the loss, and skip the others"
_ACCEPTING: Final = (ACCEPT, ACCEPT_AGAIN, ACCEPT_SKIP)
_EFFECTS: Final = {
    ACCEPT: "no run processes what is gone; the intervals are skipped, and the next one starts after the loss",
    AGAIN: "the intervals are open again with their ranges, and their runs in Airflow are cleared",
    SKIP: "no run processes these intervals, although they can be read",
    ACCEPT_AGAIN: "what is gone is skipped; the other intervals are open again, and their runs in Airflow are cleared",
    ACCEPT_SKIP: "what is gone is skipped, and the other intervals as well, although they can be read",
    LEAVE: LEAVING,
}
# Events of a range that are counted for a question.
_MOST_COUNTED: Final = 100_000


@dataclass(frozen=True, slots=True)
class _Matters:
    """The losses, and the intervals that can be read and are not done: some of them, and the number of the others."""

    skips: Skips
    waiting: list[CutRecord]
    others: int = 0

    @property
    def choices(self) -> tuple[str, ...]:
        if self.skips.texts and self.waiting:
            return (ACCEPT_AGAIN, ACCEPT_SKIP, LEAVE)
        return (ACCEPT, LEAVE) if self.skips.texts else (AGAIN, SKIP, LEAVE)


class PravegaIntervalDecisionOperator(LinkedToStream, DecisionOperator):
    """Asks people about intervals of a consumer whose data is gone, that have failed, or that nobody finishes.

    Put it before the sensor of the consumer, or into a DAG of its own. It asks with the intervals, their cuts, bytes
    and events, and does what was chosen, under the name of who has chosen it. Nothing is asked if every interval is
    done, or its run is at work. An interval that is open counts after `open_for`.

    Returns `{"decision", "skipped", "reopened", "cleared", "not_cleared"}`: the choice, with who has made it and when,
    None: nothing had to be decided; the names of the intervals that are skipped, and open again; the runs that were
    cleared, `[{"interval", "dag_id", "run_id"}]`; and the reasons for runs that were not, by interval.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        consumer: the consumer, as `pravega cuts list` shows it: `dag/task` by default. (templated)
        open_for: the time after which an open interval has to be decided about, unless its run is at work.
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "consumer", "pravega_conn_id")
    choices = tuple(_EFFECTS)

    def __init__(
        self,
        *,
        stream: str,
        consumer: str,
        open_for: timedelta = timedelta(hours=6),
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(pravega_conn_id=pravega_conn_id, **kwargs)
        check_stream(stream)
        check_known(consumer, check_consumer)
        self.stream = stream
        self.consumer = consumer
        self.open_for = open_for
        self._found: _Matters | None = None

    def question(self, client: PravegaClient, context: Context) -> Question | None:
        """The losses and the intervals that are not done, with the choices for them."""
        stream = StreamName.parse(self.stream, client.config.scope)
        self.link_to_stream(context, stream)
        consumer = deployed_name(self.consumer)
        self._found = found = self._look(client, stream, consumer)
        if not found.skips.texts and not found.waiting:
            return None
        parts = []
        if found.skips.texts:
            parts.append("**Gone from the stream:**\n\n" + "\n".join(f"- {text}" for text in found.skips.texts))
        if found.waiting:
            heads = ("interval", "state", "since", "run", "bytes", "events", "from", "to")
            parts.append("**Not done:**\n\n" + table_of(heads, [_row(client, each) for each in found.waiting]))
        if found.others:
            parts.append(f"{found.others} later intervals are asked about when these are decided.")
        parts.append(effects_of({choice: _EFFECTS[choice] for choice in found.choices}))
        counts = [f"{len(found.skips.texts)} lost"] if found.skips.texts else []
        counts += [f"{len(found.waiting)} not done"] if found.waiting else []
        subject = f"Intervals of {consumer!r} on {stream}: {', '.join(counts)}"
        return Question(subject, "\n\n".join(parts), found.choices)

    def act(self, client: PravegaClient, decision: Decision, context: Context) -> dict[str, Any]:
        """Skip, or open again and clear the runs."""
        assert self._found is not None
        stream = StreamName.parse(self.stream, client.config.scope)
        ledger, by = client.cut_ledger(stream.scope), author_of(decision, context)
        reason = f"{decision.by} has decided: {decision.choice}"
        skipped: list[str] = []
        reopened: list[str] = []
        if decision.choice in _ACCEPTING:
            skip(ledger, self._found.skips, by=by)
            skipped += [loss.record.interval for loss in self._found.skips.losses]
        if decision.choice in (SKIP, ACCEPT_SKIP):
            for record in self._found.waiting:
                ledger.skip(record.identity, reason, by=by)
                skipped.append(record.interval)
        cleared: list[dict[str, Any]] = []
        not_cleared: dict[str, str] = {}
        if decision.choice in (AGAIN, ACCEPT_AGAIN):
            own = claimant_of(context)
            for record in self._found.waiting:
                ledger.reopen(record.identity, reason, by=by)
                reopened.append(record.interval)
                run = record.claimant
                why = why_not_cleared(run, own) or (None if run is None else clear_run(run))
                if run is None or why is not None:
                    not_cleared[record.interval] = str(why)
                    continue
                cleared.append({"interval": record.interval, "dag_id": run.job, "run_id": run.run})
        return {"skipped": skipped, "reopened": reopened, "cleared": cleared, "not_cleared": not_cleared}

    def _look(self, client: PravegaClient, stream: StreamName, consumer: str) -> _Matters:
        ledger = client.cut_ledger(stream.scope)
        try:
            records = ledger.records(consumer, stream)
            skips = find_skips(client, ledger, consumer, stream)
        except TableNotFoundError:
            return _Matters(Skips([]), [])
        lost = {loss.record.interval for loss in skips.losses}
        before = datetime.now(UTC) - self.open_for
        waiting = [
            record
            for record in records
            if record.is_waiting
            and record.interval not in lost
            and (record.state is IntervalState.FAILED or record.state_since <= before)
            and client.run(Judge()(record)) is not ClaimantState.RUNNING
        ]
        return _Matters(skips, waiting[:MOST_ASKED], max(len(waiting) - MOST_ASKED, 0))


def _row(client: PravegaClient, record: CutRecord) -> tuple[object, ...]:
    size = client.run(bytes_between(client.asynchronous, record.range))
    events = count_events(client, record.range, _MOST_COUNTED)
    return (
        record.interval,
        record.state.value + (f": {record.reason}" if record.reason else ""),
        record.state_since.isoformat(timespec="seconds"),
        record.claimant or record.recorded_by,
        "not known" if size is None else f"{size:,}",
        f"{events:,}" + (" or more" if events >= _MOST_COUNTED else ""),
        record.range.start,
        record.range.end,
    )
