"""What the sensors share: a connection, and how they defer and continue."""

from datetime import timedelta
from typing import Any

from airflow.sdk import BaseSensorOperator, Context
from airflow.sdk.configuration import conf

from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.task_failures import failing_for_good, from_event
from airflow_pravega.triggers.waiting import PravegaWaitingTrigger


class PravegaWaitingSensor(BaseSensorOperator):
    """Checks a stream, and waits on the triggerer if it may.

    Args:
        deferrable: wait on the triggerer, without a worker slot.
        record: whether what is found is recorded in the cut ledger.
        pravega_conn_id: id of the connection.
        poll_interval: seconds between two checks while deferred; otherwise `poke_interval` counts.
    """

    ui_color = "#d6e9f8"

    def __init__(
        self,
        *,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        record: bool = True,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        poll_interval: float = 5.0,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)  # so that `output["…"]` works
        super().__init__(**kwargs)
        self.deferrable = deferrable
        self.record = record
        self.pravega_conn_id = pravega_conn_id
        self.poll_interval = poll_interval
        # What the trigger has found, once it has fired.
        self.fired: dict[str, Any] | None = None

    def wait_with(self, trigger: PravegaWaitingTrigger) -> None:
        """Defer; the sensor's timeout continues."""
        self.defer(trigger=trigger, method_name="resume", timeout=timedelta(seconds=self.timeout))

    def resume(self, context: Context, event: dict[str, Any]) -> Any:
        """Continue after the trigger fired. What it found is taken, unless another run has taken it meanwhile."""
        with failing_for_good():
            error = from_event(event)
            if error is not None:
                raise error
        self.fired = event
        return self.execute(context)
