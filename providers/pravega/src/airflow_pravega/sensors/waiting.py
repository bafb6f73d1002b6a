"""The base of the sensors: it defers to triggers and continues after them, and waits while the cluster is away."""

from abc import abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowSensorTimeout, AirflowTaskTimeout, conf
from airflow.sdk import BaseSensorOperator, Context, PokeReturnValue

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import PravegaError
from aiopravega.intervals.chain.take_over import explain_wait
from aiopravega.ledger import ClaimantState, CutRecord
from airflow_pravega.asset_events import tell, took
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.polling.outage import Outage
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.claimants import Judge, WaitLog
from airflow_pravega.tasks.failures import failing_for_good, from_event
from airflow_pravega.tasks.identity import records_nothing
from airflow_pravega.tasks.intervals import TO_RECORD, shown
from airflow_pravega.tasks.templates import TemplatedTexts
from airflow_pravega.triggers.reachable import REACHABLE, PravegaReachableTrigger
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger

# The key of an XCom: the claimant that a sensor waits for, and what ends the wait; empty after the wait.
WAITS_FOR: Final = "waits_for"


class PravegaWaitingSensor(TemplatedTexts, BaseSensorOperator):
    """Checks a stream, and waits on the triggerer if it is deferrable.

    It also waits while the cluster is away: for its `timeout`, from the first start of this try on, however often it
    defers. Its `execution_timeout` counts in the same way. An error that waiting cannot heal fails the task at once.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope.
        deferrable: wait on the triggerer, without a worker slot.
        pravega_conn_id: id of the connection.
        poll_interval: seconds between two checks while deferred, at most; otherwise `poke_interval` counts.
    """

    def __init__(
        self,
        *,
        stream: str,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        pravega_conn_id: str = PravegaHook.default_conn_name,
        poll_interval: float = 5.0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)  # so that `output["…"]` works
        super().__init__(**kwargs)
        self.check_named(stream)
        self.stream = stream
        self.deferrable = deferrable
        self.pravega_conn_id = pravega_conn_id
        self.poll_interval = poll_interval
        # The event of the trigger, once it has fired.
        self.fired: dict[str, Any] | None = None
        self._waits_since: datetime | None = None
        self._outage: Outage | None = None
        self._judge: Judge | None = None
        self._wait_log = WaitLog(self.log)

    def check_named(self, stream: str) -> None:
        """Check what names the stream, unless a template gives it later."""
        check_stream(stream)

    def does_record(self, context: Context, asked: bool) -> bool:
        """True if ranges are recorded: `asked` says so, and the run is not a test that Airflow deletes."""
        if asked and records_nothing(context):
            self.log.warning("The range is not recorded: a test of a task records nothing. %s", TO_RECORD)
            return False
        return asked

    def explain(self, context: Context, record: CutRecord | None, state: ClaimantState = ClaimantState.UNKNOWN) -> None:
        """Explain a wait for another claimant in the log, and for a glance at the task in its XCom `waits_for`."""
        if record is None:
            if self._wait_log.said:
                self._wait_log = WaitLog(self.log)
                context["ti"].xcom_push(key=WAITS_FOR, value="")
        elif self._wait_log.explain(record, state):
            context["ti"].xcom_push(key=WAITS_FOR, value=explain_wait(record, state))

    def explain_text(self, context: Context, about: str, text: str) -> None:
        """Explain another wait in the same way; `about` is the same as long as the wait is the same."""
        if self._wait_log.explain_text(about, text):
            context["ti"].xcom_push(key=WAITS_FOR, value=text)

    def _judge_of(self, context: Context) -> Judge:
        if self._judge is None:
            self._judge = Judge(context["task"])
        return self._judge

    @abstractmethod
    def check(self, context: Context) -> PokeReturnValue:
        """Check once; a deferrable sensor without a result defers with `wait_with`.

        Raises:
            PravegaError: an argument or the stream cannot work, or the cluster cannot be reached.
        """

    def poke(self, context: Context) -> PokeReturnValue:
        """Check once; while the cluster is away, wait.

        Raises:
            AirflowFailException: an argument or the stream cannot work.
            AirflowSensorTimeout: the sensor's timeout is over.
            AirflowTaskTimeout: the task's `execution_timeout` is over.
            PravegaError: an error that a new try can help, such as a lost race.
        """
        self._outage = self._outage or Outage(self.stream, self.log)
        ends_at = self._ends_at(self.waits_since(context))
        if ends_at is not None and datetime.now(UTC) >= ends_at:
            raise AirflowTaskTimeout(f"{self.stream} was waited for longer than the execution_timeout")
        try:
            with failing_for_good(), self._outage.checking():
                result = self.check(context)
        except PravegaError as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()
            found = result.xcom_value if isinstance(result.xcom_value, list) else [result.xcom_value]
            ranges = [each for each in found if isinstance(each, Mapping) and {"start", "end"} <= each.keys()]
            cuts = [(each, StreamCutRange.from_json(each)) for each in ranges]
            if cuts:
                tell(context, *(took(given.stream, given, each) for each, given in cuts if given.stream is not None))
            for each, given in cuts:
                self._report(each, given)
            return result
        if self.deferrable:
            with failing_for_good():
                self.wait_until_reachable()
        return PokeReturnValue(False)

    def wait_until_reachable(self) -> None:
        """Defer until the cluster answers again."""
        self.wait_with(PravegaReachableTrigger, self.named_stream())

    def named_stream(self) -> StreamName:
        """The stream with its scope, which may be that of the connection."""
        return StreamName.parse(self.stream, PravegaHook(self.pravega_conn_id).get_config().scope)

    def _report(self, claimed: Mapping[str, str], cuts: StreamCutRange) -> None:
        """Write one line about the range, which may be one that was recorded before."""
        interval = f", interval {claimed['interval']!r} of {claimed['consumer']!r}" if "interval" in claimed else ""
        times = f", event times {claimed['since']} to {claimed['until']}" if "since" in claimed else ""
        self.log.info("Range of %s %s%s%s", cuts.stream or self.stream, shown(cuts), interval, times)

    def waits_since(self, context: Context) -> datetime:
        """The time of this try's first check: a try that was deferred or rescheduled is a new process at each check."""
        if self._waits_since is None:
            first = context["ti"].get_first_reschedule_date(context) if self.reschedule else None
            self._waits_since = first or datetime.now(UTC)
        return self._waits_since

    def _ends_at(self, since: datetime) -> datetime | None:
        """The end of a deferrable task's `execution_timeout`, which Airflow itself counts for each worker again."""
        return since + self.execution_timeout if self.deferrable and self.execution_timeout is not None else None

    def wait_with(
        self,
        kind: type[PravegaWaitingTrigger],
        stream: StreamName | str,
        *,
        give_up_at: datetime | None = None,
        **own: Any,
    ) -> None:
        """Defer to a trigger, for the rest of the sensor's timeout.

        Args:
            kind: class of the trigger.
            stream: the stream that it waits for.
            own: the arguments of this class.
            give_up_at: the time at which the trigger fires in any case.

        Raises:
            AirflowSensorTimeout: the timeout is over.
        """
        since = self._waits_since or datetime.now(UTC)
        left = timedelta(seconds=self.timeout) - (datetime.now(UTC) - since)
        if left <= timedelta():
            raise AirflowSensorTimeout(
                f"{self.stream} was waited for since {since.isoformat(timespec='seconds')}, longer than the timeout of "
                f"{self.timeout:g} s"
            )
        ends = [each for each in (give_up_at, self._ends_at(since)) if each is not None]
        trigger = kind(
            stream=str(stream),
            give_up_at=min(ends).isoformat() if ends else None,
            poll_interval=self.poll_interval,
            pravega_conn_id=self.pravega_conn_id,
            carried={"waits_since": since.isoformat(), "fired": self.fired, "said": self._wait_log.said},
            **own,
        )
        self.defer(trigger=trigger, method_name="execute_complete", timeout=left)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Continue after the trigger has fired. Its range is claimed, unless another run has claimed it meanwhile."""
        with failing_for_good():
            error = from_event(event)
            if error is not None:
                raise error
        carried = event.pop("carried")
        self._waits_since = datetime.fromisoformat(carried["waits_since"])
        self._wait_log = WaitLog(self.log, carried.get("said"))
        self.fired = carried["fired"] if event["status"] == REACHABLE else event
        return self.execute(context)

    resume = execute_complete  # of tasks that an earlier build has deferred
