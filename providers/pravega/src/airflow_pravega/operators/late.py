"""The operator that finds late events of intervals of event times, and has the runs of these intervals done again.

A run is cleared as a whole, since the Task SDK offers no more. Before that the interval is claimed again: its sensor
gives the newest claim, so that the cleared run reads the late events as well.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import Context, XComArg

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import claim_times_again
from aiopravega.errors import ConfigurationError
from aiopravega.intervals import OnTruncated
from aiopravega.ledger import IntervalState
from airflow_pravega.hooks.pravega import PravegaHook, registry_of
from airflow_pravega.operators.decision import LEAVE, LEAVING, MOST_ASKED, effects_of, table_of
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.arguments import check_choice, check_known, choice_of, optional_number
from airflow_pravega.tasks.asking import AsksPeople, Question, author_of
from airflow_pravega.tasks.claimants import claimant_of, clear_run, why_not_cleared
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import check_consumer, deployed_name, records_nothing, write_name
from airflow_pravega.tasks.intervals import TO_RECORD
from pravega_jobs.frame_kinds import need_arrow
from pravega_jobs.spark.options import with_columns

if TYPE_CHECKING:
    from pravega_jobs.late import LateEvents, LateInterval, LatePolicy

# Of the result, which is an XCom. The log names fewer.
_MOST_SHOWN: Final = 100
ASK: Final = "ask"
RUN_AGAIN: Final = "Run them again"
_EFFECTS: Final = {
    RUN_AGAIN: "each interval is claimed again, up to the tail, and its run in Airflow is cleared",
    LEAVE: LEAVING,
}


class PravegaLateEventsOperator(AsksPeople, PravegaStreamOperator):
    """Finds events that came after their interval of event times was claimed, and runs exactly these intervals again.

    A `PravegaEventTimeSensor` has claimed the intervals. The search reads what no search has read before. With
    `late="rerun"` or `"collect"` an interval whose newest claim is done is claimed again, up to the tail, and its
    run in Airflow is cleared: the same run, with its logical date, reads the late events as well. Let the tasks after
    the sensor write the next generation: `rebuild="{{ ti.xcom_pull(task_ids='wait', key='claim') }}"`. A run that is at
    work is waited for, until the next search. An interval that Airflow cannot run again is named with the reason.

    With `late="ask"` people decide in Airflow's UI, with the numbers of late events beside the intervals; see
    `AsksPeople` for the arguments that say how to ask.

    Returns `{"stream", "consumer", "start", "end", "searched", "whole", "lost", "events", "intervals", "rerun",
    "not_rerun"}`: the result of `pravega_jobs.late.find_late_events`, with the first 100 intervals; the runs that were
    cleared, `[{"interval", "claim", "dag_id", "run_id"}]`; and the reasons for intervals that are due and were not run
    again, `{interval: reason}`. After people were asked it also has `decision`, `{"choice", "by", "at"}`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        consumer: the consumer of the intervals, as the sensor's result has it: `dag/task` by default. (templated)
        columns: the columns of events that are decoded as JSON, as SQL writes them. (templated)
        options: the options of the decoding, as of `pravega_jobs.frames.read_arrow`, with `event_time`, the column of
            the times. (templated)
        late: `"report"` runs nothing; `"rerun"` runs an interval again as soon as it has late events; `"collect"` when
            it has enough of them, or after some time. (templated)
        late_after_events: with `collect`, the number of late events of an interval that is enough.
        late_after: with `collect`, the longest time from the first late event that was found to the run.
        max_bytes: bytes to read at most, about; the next search continues. (templated)
        on_truncated: the rule if events that no search has read are gone: `"fail"`, or `"skip"` them. (templated)
        pravega_conn_id: id of the connection; its Schema Registry, if it names one, decodes events. (templated)
    """

    choices = tuple(_EFFECTS)
    template_fields: Sequence[str] = (
        "stream",
        "consumer",
        "columns",
        "options",
        "late",
        "max_bytes",
        "on_truncated",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        consumer: str,
        columns: str | None = None,
        options: Mapping[str, str] | None = None,
        late: str = "report",
        late_after_events: int | None = None,
        late_after: timedelta | None = None,
        max_bytes: int | str | XComArg | None = None,
        on_truncated: str = OnTruncated.FAIL.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with failing_for_good():
            need_arrow()
        check_known(consumer, check_consumer)
        check_known(late, lambda text: _policy(text, late_after_events, late_after))
        check_known(late, self._check_asking)
        check_choice(OnTruncated, "on_truncated", on_truncated)
        self.consumer = consumer
        self.columns = columns
        self.options = dict(options or {})
        self.late = late
        self.late_after_events = late_after_events
        self.late_after = late_after
        self.max_bytes = max_bytes
        self.on_truncated = on_truncated

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> dict[str, Any]:
        """Search, and clear runs.

        Raises:
            AirflowSkipException: a test records nothing, so that it cannot search.
            ConfigurationError: the options give events no times, or the consumer has a chain of ranges.
            PravegaError: the stream cannot be searched.
        """
        from pravega_jobs.late import find_late_events

        if records_nothing(context):
            raise AirflowSkipException(f"A search for late events records how far it came. {TO_RECORD}")
        self._check_asking(str(self.late))
        policy = _policy(str(self.late), self.late_after_events, self.late_after)
        consumer, by = deployed_name(self.consumer), write_name(context)
        with registry_of(PravegaHook(self.pravega_conn_id)) as registry:
            found = find_late_events(
                client,
                stream,
                consumer,
                registry=registry,
                max_bytes=optional_number("max_bytes", self.max_bytes),
                on_truncated=choice_of(OnTruncated, "on_truncated", self.on_truncated),
                by=by,
                **with_columns(self.options, self.columns),
            )
        if found.lost is not None:
            self.log.warning("%s", found.lost)
        self.log.info("%s", found.text)
        due = policy.due(found, datetime.now(UTC))
        if self.late == ASK and due:
            self.ask(_question(stream, consumer, due), context)
        return self._run_again(client, found, due, by, context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Run the intervals again if people have decided so, and if it is still what they were asked about.

        Raises:
            AirflowException: nobody has answered in time, or a search has found more: the next try asks again.
            AirflowSkipException: people have decided to leave it as it is.
            AirflowFailException: an argument cannot work.
            PravegaError: the cluster cannot be reached.
        """
        from pravega_jobs.late.finding import known_late_events

        decision = self.decision_in(event)
        policy = _policy(str(self.late), self.late_after_events, self.late_after)
        with failing_for_good(), PravegaHook(self.pravega_conn_id).get_client() as client:
            stream, consumer = StreamName.parse(self.stream, client.config.scope), deployed_name(self.consumer)
            found = client.run(known_late_events(client.asynchronous, stream, consumer))
            due = policy.due(found, datetime.now(UTC))
            question = _question(stream, consumer, due)
            if due:
                self.check_still_asked(question, context)
                if decision.choice == LEAVE:
                    raise AirflowSkipException(f"{decision.by} leaves it as it is: {question.subject}")
            done = self._run_again(client, found, due[:MOST_ASKED], author_of(decision, context), context)
        return {**done, "decision": decision.to_json()}

    def _run_again(
        self, client: PravegaClient, found: "LateEvents", due: "Sequence[LateInterval]", by: str, context: Context
    ) -> dict[str, Any]:
        """Claim intervals again, and clear their runs; returns the task's result."""
        from pravega_jobs.late.finding import claimed_intervals

        stream, consumer = found.stream, found.consumer
        on_truncated = choice_of(OnTruncated, "on_truncated", self.on_truncated)
        named = {each.interval: each for each in due}
        cleared: list[dict[str, Any]] = []
        not_cleared: dict[str, str] = {}
        own = claimant_of(context)
        for claimed in client.run(claimed_intervals(client.asynchronous, stream, consumer)):
            late, newest = named.get(claimed.name), claimed.records[-1]
            # A search that was killed after the claim has not cleared the run: nobody else would. Nor is there another
            # one that names a later claim that has failed.
            is_left = claimed.claim > 1 and newest.state in (IntervalState.OPEN, IntervalState.FAILED)
            if late is None and not is_left:
                continue
            run, claim = newest.claimant, claimed.claim if late is None else late.next_claim
            reason = why_not_cleared(run, own, is_left=late is None)
            if run is not None and reason is None:
                if late is not None:
                    claim_times_again(
                        client, stream, consumer, claimed.times, claim, by=by, on_truncated=on_truncated, claimant=run
                    )
                reason = clear_run(run)
            if run is None or reason is not None:
                not_cleared[claimed.name] = str(reason)
                self.log.warning("%s of %s is not run again: %s", claimed.name, consumer, reason)
                continue
            cleared.append({"interval": claimed.name, "claim": claim, "dag_id": run.job, "run_id": run.run})
            self.log.info("%s of %s runs again as claim %d: %s of %s", claimed.name, consumer, claim, run.run, run.job)
        result = found.to_json()
        shown = {"intervals": result["intervals"][:_MOST_SHOWN]}
        return {**result, **shown, "rerun": cleared, "not_rerun": not_cleared}

    def _check_asking(self, late: str) -> None:
        if late != ASK and self.has_asking_arguments:
            raise ConfigurationError(
                f"late is {late!r}, which asks nobody: leave out assigned_users, notifiers and response_timeout, or "
                "say 'ask'"
            )


def _policy(late: str, after_events: int | None, after: timedelta | None) -> "LatePolicy":
    """The policy by which intervals are due: to be run again, or to be asked about."""
    from pravega_jobs.late import LatePolicy, OnLate

    if late not in (ASK, *OnLate):
        raise ConfigurationError(f"late is {late!r}, but must be one of {', '.join(OnLate)}, {ASK}")
    if late == ASK:
        late = "rerun" if after_events is None and after is None else "collect"
    return LatePolicy.of(late, after_events, after)


def _question(stream: StreamName, consumer: str, due: "Sequence[LateInterval]") -> Question:
    rows: list[tuple[object, ...]] = [
        (each.interval, each.since.isoformat(), each.until.isoformat(), f"{each.events:,}", each.claim, each.first)
        for each in due[:MOST_ASKED]
    ]
    parts = [table_of(("interval", "from", "until", "late events", "claim", "the first one"), rows)]
    if len(due) > MOST_ASKED:
        parts.append(f"{len(due) - MOST_ASKED} later intervals are asked about when these are decided.")
    parts.append(effects_of(_EFFECTS))
    events = sum(each.events for each in due[:MOST_ASKED])
    subject = f"{events:,} late events of {len(rows)} intervals of {consumer!r} on {stream}"
    return Question(subject, "\n\n".join(parts), tuple(_EFFECTS))
