"""Spark operators whose task waits without a worker while a Spark Connect server works.

The task has the server begin one operation and defers. In a second visit to a worker it finds the operation ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, NoReturn

from airflow.providers.common.compat.sdk import AirflowException, AirflowTaskTimeout

from aiopravega.errors import ConfigurationError, PravegaError
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.spark.operator import PravegaSparkOperator
from airflow_pravega.tasks.failures import from_event
from airflow_pravega.triggers.spark_operation import PravegaSparkOperationTrigger
from airflow_pravega.triggers.waiting import GAVE_UP
from pravega_jobs.spark import connect
from pravega_jobs.spark.connect_server import check_url

_OPERATION = "operation"
_SINCE = "since"


class DeferrableSparkOperator(PravegaSparkOperator):
    """A Spark operator whose work is one operation of Spark.

    Args:
        deferrable: have a Spark Connect server (`sc://host:port`) work while the task waits without a worker.
        poll_interval: seconds between two questions while that server is away, 60 at most.
    """

    def __init__(self, *, deferrable: bool = False, poll_interval: float = 10.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.deferrable = deferrable
        self.poll_interval = poll_interval

    @property
    def needs_own_session(self) -> bool:
        """True if the task defers: its session stays on the server, and is ended with the operation."""
        return self.deferrable

    def server(self, hook: PravegaHook) -> str:
        """The URL of the Spark Connect server that works while the task waits.

        Raises:
            ConfigurationError: the master leads elsewhere, or its URL may have a secret.
        """
        url, _ = self.settings(hook)
        try:
            check_url(url)
        except ConfigurationError as error:
            raise ConfigurationError(f"deferrable=True, but {error}") from error
        return url

    def give_back(
        self,
        operation: connect.Operation,
        carried: Mapping[str, Any],
        *,
        observations: Sequence[str] = (),
        first: Mapping[str, Any] | None = None,
    ) -> NoReturn:
        """Leave the worker while a server works; `execute_complete` continues.

        Args:
            operation: what the server has begun.
            carried: plain JSON for the event of `execute_complete`.
            observations: the names of the observations whose values the event has.
            first: what was carried at first, if the task leaves its worker again: its time counts from then.
        """
        since = datetime.now(UTC) if first is None else datetime.fromisoformat(first[_SINCE])
        self.log.info("Waiting without a worker for %s", operation)
        trigger = PravegaSparkOperationTrigger(
            operation=asdict(operation),
            observations=list(observations),
            poll_interval=self.poll_interval,
            carried={**carried, _OPERATION: asdict(operation), _SINCE: since.isoformat()},
            give_up_at=None if self.execution_timeout is None else (since + self.execution_timeout).isoformat(),
        )
        self.defer(trigger=trigger, method_name="execute_complete")

    def end_session(self, event: Mapping[str, Any]) -> None:
        """End the session of the operation, and the operation, if it still runs; a failure is logged, not raised."""
        operation = connect.Operation(**event["carried"][_OPERATION])
        try:
            connect.end(operation)
        except PravegaError as error:
            self.log.warning("The server may still have %s, until it ends its session itself: %s", operation, error)

    def ended(self, event: Mapping[str, Any]) -> tuple[connect.OperationEnd, float]:
        """The end of the operation, and the seconds since the task has begun.

        Raises:
            AirflowException: it has failed.
            AirflowTaskTimeout: the task's `execution_timeout` is over.
            PravegaError: the trigger could not wait.
        """
        operation = connect.Operation(**event["carried"][_OPERATION])
        error = from_event(dict(event))
        if error is not None:
            raise error
        if event["status"] == GAVE_UP:
            raise AirflowTaskTimeout(f"{operation} ran longer than the execution_timeout")
        end = connect.OperationEnd(**event["end"])
        if end.has_ended_well is False:
            raise AirflowException(f"{operation} has failed: {end.message}")
        return end, round((datetime.now(UTC) - datetime.fromisoformat(event["carried"][_SINCE])).total_seconds(), 3)


def check_known(end: connect.OperationEnd) -> None:
    """Check that the server has known an operation until its end.

    Raises:
        AirflowException: it has not, so it is not known if the work is done.
    """
    if end.has_ended_well is None:
        raise AirflowException(f"the Spark Connect server does not know the operation any more: {end.message}")
