"""What the sensors share: a connection, how they defer and continue, and that they wait while the cluster is away."""

from abc import abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSensorTimeout, conf
from airflow.sdk import BaseSensorOperator, Context, PokeReturnValue

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import PravegaError
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.polling.outage import Outage
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.failures import failing_for_good, from_event
from airflow_pravega.tasks.intervals import shown
from airflow_pravega.triggers.reachable import REACHABLE, PravegaReachableTrigger
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger


class PravegaWaitingSensor(BaseSensorOperator):
    """Checks a stream, and waits on the triggerer if it may.

    While the cluster is away it waits, too: its `timeout` says how long, from the first start of this try on, however
    often it defers. What waiting cannot heal fails the task at once.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope.
        deferrable: wait on the triggerer, without a worker slot.
        pravega_conn_id: id of the connection.
        poll_interval: seconds between two checks while deferred, at most; otherwise `poke_interval` counts.
    """

    ui_color = "#d6e9f8"

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
        check_stream(stream)
        self.stream = stream
        self.deferrable = deferrable
        self.pravega_conn_id = pravega_conn_id
        self.poll_interval = poll_interval
        # What the trigger has found, once it has fired.
        self.fired: dict[str, Any] | None = None
        self._waits_since: datetime | None = None
        self._outage: Outage | None = None

    @abstractmethod
    def check(self, context: Context) -> PokeReturnValue:
        """Check once; defer with `wait_with` if there is nothing to hand on yet and the sensor may.

        Raises:
            PravegaError: the stream cannot work, or the cluster cannot be reached.
        """

    def poke(self, context: Context) -> PokeReturnValue:
        """Check once; a cluster that is away is waited for.

        Raises:
            AirflowFailException: what is asked for cannot work.
            AirflowSensorTimeout: it has waited for long enough.
            PravegaError: one that a new try can help, such as a lost race.
        """
        self._outage = self._outage or Outage(self.stream, self.log)
        self.waits_since(context)
        try:
            with failing_for_good(), self._outage.checking():
                found = self.check(context)
        except PravegaError as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()
            if isinstance(found.xcom_value, Mapping) and {"start", "end"} <= found.xcom_value.keys():
                self._report(found.xcom_value)
            return found
        if self.deferrable:
            with failing_for_good():
                stream = StreamName.parse(self.stream, PravegaHook(self.pravega_conn_id).get_config().scope)
            self.wait_with(PravegaReachableTrigger, stream)
        return PokeReturnValue(False)

    def _report(self, taken: Mapping[str, str]) -> None:
        """One line of what is handed on; a run that gets its recorded range again reports that."""
        whose = f", interval {taken['interval']!r} of {taken['consumer']!r}" if "interval" in taken else ""
        times = f", event times {taken['since']} to {taken['until']}" if "since" in taken else ""
        self.log.info("Range of %s %s%s%s", self.stream, shown(StreamCutRange.from_json(taken)), whose, times)

    def waits_since(self, context: Context) -> datetime:
        """When this try checked first: one that was deferred or rescheduled is a new process at each check."""
        if self._waits_since is None:
            first = context["ti"].get_first_reschedule_date(context) if self.reschedule else None
            self._waits_since = first or datetime.now(UTC)
        return self._waits_since

    def wait_with(self, kind: type[PravegaWaitingTrigger], stream: StreamName, **own: Any) -> None:
        """Defer to a trigger, for what is left of the sensor's timeout.

        Args:
            kind: of the trigger.
            stream: what it waits for.
            own: the arguments that only this kind has, and `give_up_at`.

        Raises:
            AirflowSensorTimeout: nothing is left.
        """
        since = self._waits_since or datetime.now(UTC)
        left = timedelta(seconds=self.timeout) - (datetime.now(UTC) - since)
        if left <= timedelta():
            raise AirflowSensorTimeout(
                f"{self.stream} was waited for since {since.isoformat(timespec='seconds')}, longer than the timeout of "
                f"{self.timeout:g} s"
            )
        trigger = kind(
            stream=str(stream),
            poll_interval=self.poll_interval,
            pravega_conn_id=self.pravega_conn_id,
            carried={"waits_since": since.isoformat(), "fired": self.fired},
            **own,
        )
        self.defer(trigger=trigger, method_name="resume", timeout=left)

    def resume(self, context: Context, event: dict[str, Any]) -> Any:
        """Continue after the trigger fired. What it found is taken, unless another run has taken it meanwhile."""
        with failing_for_good():
            error = from_event(event)
            if error is not None:
                raise error
        carried = event.pop("carried")
        self._waits_since = datetime.fromisoformat(carried["waits_since"])
        self.fired = carried["fired"] if event["status"] == REACHABLE else event
        return self.execute(context)
