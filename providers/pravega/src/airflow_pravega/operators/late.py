"""The operator that finds late events of intervals of event times, and has the runs of these intervals done again.

A run is cleared as a whole, since the Task SDK offers no more. Before that the interval is claimed again: its sensor
gives the newest claim, so that the cleared run reads the late events as well.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import Context, XComArg

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import claim_times_again
from aiopravega.intervals import OnTruncated
from aiopravega.ledger import IntervalState
from airflow_pravega.hooks.pravega import PravegaHook, registry_of
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.arguments import check_choice, check_known, choice_of, optional_number
from airflow_pravega.tasks.claimants import claimant_of, clear_run, why_not_cleared
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import check_consumer, deployed_name, records_nothing, write_name
from airflow_pravega.tasks.intervals import TO_RECORD
from pravega_jobs.frame_kinds import need_arrow
from pravega_jobs.spark.options import with_columns

# Of the result, which is an XCom. The log names fewer.
_MOST_SHOWN: Final = 100


class PravegaLateEventsOperator(PravegaStreamOperator):
    """Finds events that came after their interval of event times was claimed, and runs exactly these intervals again.

    A `PravegaEventTimeSensor` has claimed the intervals. The search reads what no search has read before. With
    `late="rerun"` or `"collect"` an interval whose newest claim is done is claimed again, up to the tail, and its
    run in Airflow is cleared: the same run, with its logical date, reads the late events as well. Let the tasks after
    the sensor write the next generation: `rebuild="{{ ti.xcom_pull(task_ids='wait', key='claim') }}"`. A run that is at
    work is waited for, until the next search. An interval that Airflow cannot run again is named with the reason.

    Returns `{"stream", "consumer", "start", "end", "searched", "whole", "lost", "events", "intervals", "rerun",
    "not_rerun"}`: the result of `pravega_jobs.late.find_late_events`, with the first 100 intervals; the runs that were
    cleared, `[{"interval", "claim", "dag_id", "run_id"}]`; and the reasons for intervals that are due and were not run
    again, `{interval: reason}`.

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
        from pravega_jobs.late import LatePolicy

        check_known(consumer, check_consumer)
        check_known(late, lambda text: LatePolicy.of(text, late_after_events, late_after))
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
        from pravega_jobs.late import LatePolicy, find_late_events
        from pravega_jobs.late.finding import claimed_intervals

        if records_nothing(context):
            raise AirflowSkipException(f"A search for late events records how far it came. {TO_RECORD}")
        policy = LatePolicy.of(str(self.late), self.late_after_events, self.late_after)
        consumer, by = deployed_name(self.consumer), write_name(context)
        on_truncated = choice_of(OnTruncated, "on_truncated", self.on_truncated)
        with registry_of(PravegaHook(self.pravega_conn_id)) as registry:
            found = find_late_events(
                client,
                stream,
                consumer,
                registry=registry,
                max_bytes=optional_number("max_bytes", self.max_bytes),
                on_truncated=on_truncated,
                by=by,
                **with_columns(self.options, self.columns),
            )
        if found.lost is not None:
            self.log.warning("%s", found.lost)
        self.log.info("%s", found.text)
        due = {each.interval: each for each in policy.due(found, datetime.now(UTC))}
        cleared: list[dict[str, Any]] = []
        not_cleared: dict[str, str] = {}
        own = claimant_of(context)
        for claimed in client.run(claimed_intervals(client.asynchronous, stream, consumer)):
            late, newest = due.get(claimed.name), claimed.records[-1]
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
