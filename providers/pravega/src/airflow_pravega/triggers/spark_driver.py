"""The trigger of the operator that submits programs: waits until a driver on a cluster has ended.

Airflow keeps this module's path in its database, with the class of each trigger that waits.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from airflow.triggers.base import BaseTrigger, TriggerEvent
from airflow.utils.state import TaskInstanceState
from asgiref.sync import sync_to_async

from aiopravega import PravegaConfig
from aiopravega.errors import PravegaError
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.polling.outage import Outage
from airflow_pravega.polling.shared_client import shared_client
from airflow_pravega.spark.drivers import ClusterDrivers, DriverStatus
from airflow_pravega.spark.submission import drivers_of, give_up_driver
from airflow_pravega.tasks.failures import to_event
from airflow_pravega.triggers.waiting import GAVE_UP
from pravega_jobs.remote.reports import JobReports, ReportAddress

ENDED: Final = "ended"
_ASKING_SECONDS: Final = 10
# The states of a task that nobody has ended: it waits, or continues since the trigger has fired on another triggerer.
_UNENDED: Final = (
    TaskInstanceState.DEFERRED,
    TaskInstanceState.SCHEDULED,
    TaskInstanceState.QUEUED,
    TaskInstanceState.RUNNING,
)
# Airflow 3.3 tells triggers that a person has ended their task; before, they are only cancelled, as at a shutdown.
_TELLS: Final = hasattr(BaseTrigger, "on_kill")


class PravegaSparkDriverTrigger(BaseTrigger):
    """Fires once, when a driver has ended: `{"status": "ended", "end": the last DriverStatus as plain JSON}`.

    Its log has the state of the driver and the progress of the program, when they change. While the cluster or Pravega
    is away, it continues to wait. A task that a person ends takes its driver with it.

    Args:
        cluster: the kind of the cluster: `standalone`, `yarn` or `kubernetes`.
        servers: addresses of the masters' REST servers, of the ResourceManagers of YARN, or of Kubernetes.
        driver: the cluster's id of the driver.
        job: the job, the scope and the submission of the program's report.
        watcher: the try that waits for the driver.
        poll_interval: seconds between two checks.
        pravega_conn_id: id of the connection.
        carried: plain JSON that the operator needs when it continues.
        give_up_at: the time at which it fires in any case, with `{"status": "gave_up"}`; in ISO 8601 with its zone.
        access: names, none of them secret, by which the drivers and the credentials of Kubernetes are found.
    """

    def __init__(
        self,
        *,
        cluster: str,
        servers: Sequence[str],
        driver: str,
        job: dict[str, str],
        watcher: str,
        poll_interval: float,
        pravega_conn_id: str,
        carried: dict[str, Any],
        give_up_at: str | None = None,
        access: dict[str, str] | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers have no types
        self.cluster = cluster
        self.servers = list(servers)
        self.driver = driver
        self.job = job
        self.watcher = watcher
        self.poll_interval = poll_interval
        self.pravega_conn_id = pravega_conn_id
        self.carried = carried
        self.give_up_at = give_up_at
        self.access = access
        self._seen: tuple[DriverStatus | None, str | None] = (None, None)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON."""
        names = ("cluster", "servers", "driver", "job", "watcher", "poll_interval", "pravega_conn_id", "carried")
        arguments = {name: getattr(self, name) for name in (*names, "give_up_at", "access")}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            event = await self._wait()
        except PravegaError as error:
            event = to_event(error)
        except asyncio.CancelledError:
            if not _TELLS and await self._was_ended_by_a_person():
                await self.on_kill()
            raise
        yield TriggerEvent({**event, "carried": self.carried})

    async def on_kill(self) -> None:
        """Kill the driver, and refuse its report, unless another try waits for it by now."""
        config = await PravegaHook(self.pravega_conn_id).aget_config()
        address = ReportAddress(**self.job)
        async with shared_client(config) as client:
            newest = await JobReports(client, address).newest()
            if newest is not None and newest[0].watcher != self.watcher:
                self.log.info("%s is not killed: another try of the task waits for it", self.driver)
                return
            self.log.info("The task was ended: killing %s", self.driver)
            await give_up_driver(client, address, self._drivers(), self.driver)

    async def _wait(self) -> dict[str, Any]:
        seconds = None
        if self.give_up_at is not None:
            seconds = (datetime.fromisoformat(self.give_up_at) - datetime.now(UTC)).total_seconds()
        config, drivers = await PravegaHook(self.pravega_conn_id).aget_config(), self._drivers()
        outage = Outage(self.driver, self.log)
        try:
            async with asyncio.timeout(seconds) as limit:
                while True:
                    # Airflow fails a task whose trigger fires before the process that deferred has ended.
                    await asyncio.sleep(self.poll_interval * random.uniform(1.0, 1.5))
                    try:
                        with outage.checking():
                            status = await self._look(config, drivers)
                    except PravegaError as error:
                        outage.failed(error)
                        continue
                    outage.succeeded()
                    if not status.is_active:
                        return {"status": ENDED, "end": asdict(status)}
        except TimeoutError:
            if not limit.expired():
                raise
            return {"status": GAVE_UP}

    def _drivers(self) -> ClusterDrivers:
        return drivers_of(self.cluster, self.servers, self.access)

    async def _look(self, config: PravegaConfig, drivers: ClusterDrivers) -> DriverStatus:
        status = await drivers.status(self.driver)
        async with shared_client(config) as client:
            newest = await JobReports(client, ReportAddress(**self.job)).newest()
        before, line = self._seen[0], None if newest is None else newest[0].progress
        if before is None or (status.state, status.node) != (before.state, before.node):
            self.log.info("%s is %s%s", self.driver, status, "" if status.output is None else f": {status.output}")
        if line is not None and line != self._seen[1]:
            self.log.info("%s", line)
        self._seen = (status, line)
        return status

    async def _was_ended_by_a_person(self) -> bool:
        """True if the task neither waits nor continues; a triggerer that ends, or loses the trigger, leaves it so."""
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

        ti: Any = self.task_instance
        try:
            async with asyncio.timeout(_ASKING_SECONDS):
                states = await sync_to_async(RuntimeTaskInstance.get_task_states)(
                    dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id], map_index=ti.map_index
                )
        except Exception as error:  # noqa: BLE001 - a triggerer that ends cannot ask
            self.log.warning("%s is left alone, since Airflow does not say why: %s", self.driver, error)
            return False
        return all(each not in _UNENDED for each in states.get(ti.run_id, {}).values())
