"""The trigger of the operator that submits programs: waits until a driver on a cluster has ended.

Airflow keeps this module's path in its database, with the class of each trigger that waits.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from aiopravega import PravegaConfig
from aiopravega.errors import PravegaError
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.polling.outage import Outage
from airflow_pravega.polling.shared_client import shared_client
from airflow_pravega.spark.drivers import ClusterDrivers, DriverStatus
from airflow_pravega.spark.submission import drivers_of, give_up_driver
from airflow_pravega.triggers.work import PravegaWorkTrigger
from pravega_jobs.remote.reports import JobReports, ReportAddress


class PravegaSparkDriverTrigger(PravegaWorkTrigger):
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
        access: names, none of them secret, by which the drivers and the credentials of Kubernetes are found.
        **kwargs: what `PravegaWorkTrigger` takes.
    """

    own = ("cluster", "servers", "driver", "job", "watcher", "poll_interval", "pravega_conn_id", "access")

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
        access: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.cluster = cluster
        self.servers = list(servers)
        self.driver = driver
        self.job = job
        self.watcher = watcher
        self.poll_interval = poll_interval
        self.pravega_conn_id = pravega_conn_id
        self.access = access
        self._seen: tuple[DriverStatus | None, str | None] = (None, None)

    @property
    def work(self) -> str:
        """The driver."""
        return self.driver

    async def end_of_work(self) -> dict[str, Any]:
        """The last `DriverStatus`, as plain JSON."""
        config, drivers = await PravegaHook(self.pravega_conn_id).aget_config(), self._drivers()
        outage = Outage(self.driver, self.log)
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
                return asdict(status)

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
