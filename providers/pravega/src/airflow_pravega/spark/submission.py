"""Programs for drivers of a cluster: submitted once, found again by a further try, or given up by name.

The report's entry in Pravega says which driver has the work. A program starts only while the entry has its
submission's name. So a submission that may have arrived or not is replaced, and its program does nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from uuid import uuid4

from airflow.providers.common.compat.sdk import AirflowException

from aiopravega.client import PravegaClient
from aiopravega.errors import ConfigurationError, PravegaError, TableConflictError
from airflow_pravega.spark.drivers import ClusterDrivers, ClusterProgram, DriverStatus
from airflow_pravega.spark.kubernetes import KUBERNETES, MISSING, KubernetesDrivers, KubernetesProgram
from airflow_pravega.spark.standalone import STANDALONE, StandaloneDrivers, StandaloneProgram
from airflow_pravega.spark.yarn import YARN, YarnDrivers, YarnProgram
from pravega_jobs.remote.orders import WorkOrder
from pravega_jobs.remote.reports import TABLE, JobReports, ReportAddress, Submission

_CLUSTERS: Final = {each.cluster: each for each in (StandaloneDrivers, YarnDrivers, KubernetesDrivers)}


def drivers_of(cluster: str, servers: Sequence[str], access: Mapping[str, str] | None = None) -> ClusterDrivers:
    """The drivers of a cluster, by the plain JSON that a trigger has: its kind, its servers, and names of access."""
    return _CLUSTERS[cluster](servers, access)


def program_of(hook: Any, application: str, name: str) -> ClusterProgram:
    """The program that the hook of Airflow's provider would submit; its driver must be in a cluster.

    Args:
        hook: the provider's hook, which is changed.
        application: the program.
        name: the name of the application in the cluster's pages, if the operator has none.

    Raises:
        ConfigurationError: the connection leads elsewhere, or an argument cannot work.
    """
    connection = hook._connection  # noqa: SLF001  # the provider has no public way to read it
    master, mode = connection["master"], connection["deploy_mode"]
    if master != YARN and not master.startswith((STANDALONE, KUBERNETES)):
        raise ConfigurationError(
            f"deferrable=True, but the connection of Spark leads to {master}: only drivers on a standalone cluster "
            "(spark://host:port), on YARN (host yarn, without a port) and on Kubernetes (k8s://https://host:port) are "
            "waited for on the triggerer. For Spark Connect, whose clients are not submitted, say deferrable=True of "
            "PravegaSparkReadOperator, PravegaSparkWriteOperator or @task.pravega_spark"
        )
    if mode != "cluster":
        raise ConfigurationError(
            f"deferrable=True, but the deploy mode is {mode or 'client'}, in which the driver is a child of the "
            "worker. Say deploy_mode='cluster', or deploy-mode in the extra of the connection"
        )
    if hook._post_submit_commands:  # noqa: SLF001  # the same
        raise ConfigurationError("post_submit_commands run on a worker, so deferrable=True does not take them")
    if master == YARN:
        return YarnProgram.of(hook, application, name)
    if master.startswith(KUBERNETES):
        return KubernetesProgram.of(hook, application, name)
    return StandaloneProgram.of(hook, application, name)


@dataclass(slots=True)
class DriverSubmission:
    """The submission of a program for one job, by one try.

    Args:
        client: a connected client.
        program: the program.
        scope: the scope of the report.
        job: the name of the job, which is the same for all its tries.
        log: gets a line for what was done.
    """

    client: PravegaClient
    program: ClusterProgram
    scope: str
    job: str
    log: Any
    driver: str | None = None
    watcher: str = field(default_factory=lambda: uuid4().hex)
    _address: ReportAddress | None = None

    async def submit(
        self,
        work: WorkOrder,
        variables: Callable[[ReportAddress], Mapping[str, str]],
        settings: Mapping[str, str],
    ) -> ReportAddress:
        """Submit the program, or find it, by what `work` says; returns the address of its report.

        Args:
            work: what a further try would hand over.
            variables: the environment of the program, from the address of its report.
            settings: settings of Spark that only this try has.

        Raises:
            ConfigurationError: the cluster refuses the program, or a setting is a secret.
            PravegaError: the cluster, or Pravega, cannot be reached.
        """
        name, program = self.program.name_of(work), self.program.with_settings(settings)
        while True:
            newest = await JobReports(self.client, ReportAddress(self.scope, self.job, "")).newest()
            found = None if newest is None else newest[0]
            driver = None if found is None else await self._driver_of(found)
            if found is not None and found.work == name and await self._is_usable(found, driver):
                self._address = ReportAddress(self.scope, self.job, found.submission)
                return self._address
            address = ReportAddress(self.scope, self.job, uuid4().hex)
            reports = JobReports(self.client, address)
            try:
                await reports.expect_after(newest, name, self.watcher)
            except TableConflictError:
                continue
            self._address = address
            if found is not None:
                await self._replace(found, driver, is_other_work=found.work != name)
            self.driver = await program.submit(address.submission, variables(address))
            self.log.info("Submitted as %s to %s", self.driver, ", ".join(self.program.servers))
            await reports.watched(self.driver, self.watcher)
            return address

    def named(self, address: ReportAddress) -> dict[str, Any]:
        """The names by which others find the driver and its report, as plain JSON."""
        drivers = self.program.drivers
        where: dict[str, Any] = {"cluster": drivers.cluster, "servers": list(drivers.servers)}
        if drivers.access:
            where["access"] = drivers.access
        return {**where, "driver": self.driver, "job": asdict(address)}

    async def give_up(self) -> None:
        """Kill the driver, if there is one, and refuse the program's report. A failure is logged, not raised."""
        if self._address is not None:
            await try_to_give_up(self.client, self._address, self.program.drivers, self.driver, self.log)

    async def _driver_of(self, found: Submission) -> str | None:
        """The driver of an earlier try; its program has noted it, or the cluster knows the submission."""
        return found.driver or await self.program.drivers.find(found.submission)

    async def _is_usable(self, found: Submission, driver: str | None) -> bool:
        """True if the driver of an earlier try is at work, or has ended after its program has reported results.

        A driver can fail after its report. A driver that the cluster does not know any more has ended.
        """
        if driver is None or (found.report is not None and "error" in found.report):
            return False
        has_reported = found.report is not None
        status = await self.program.drivers.status(driver)
        if found.driver is None and not status.has_begun:
            return False  # it may lack what `spark-submit` makes last, and wait for it without end
        is_done = has_reported and (status.has_ended_well or status.state is None)
        if not (status.is_active or is_done):
            return False
        self.driver = driver
        reports = JobReports(self.client, ReportAddress(self.scope, self.job, found.submission))
        await reports.watched(driver, self.watcher)
        done = ", and whose program has reported" if has_reported else ""
        self.log.info("Found again: %s, which an earlier try has submitted%s", driver, done)
        return True

    async def _replace(self, found: Submission, driver: str | None, *, is_other_work: bool) -> None:
        """Say what an earlier try has left, which is refused from now on; kill its driver if it has other work."""
        drivers = self.program.drivers
        if driver is None and found.report is None:
            self.log.warning(
                "An earlier try was ended while it submitted. If its program has arrived, it is refused when it begins"
            )
        elif driver is not None and (is_other_work or found.driver is None):
            status = await drivers.status(driver)
            if status.is_active and is_other_work:
                self.log.warning("The task has other arguments now: killing %s, which has the old ones", driver)
                await drivers.kill(driver)
            elif status.is_active and not status.has_begun:
                self.log.warning("An earlier try was ended while it submitted %s, which waits: killing it", driver)
                await drivers.kill(driver)


async def give_up_driver(
    client: PravegaClient, address: ReportAddress, drivers: ClusterDrivers, driver: str | None
) -> None:
    """Refuse the report of a program, so that it does not begin, and kill its driver.

    Raises:
        PravegaError: the cluster, or Pravega, cannot be reached.
    """
    try:
        await JobReports(client, address).forget()
    finally:
        driver = driver or await drivers.find(address.submission)
        if driver is not None:
            await drivers.kill(driver)


async def try_to_give_up(
    client: PravegaClient, address: ReportAddress, drivers: ClusterDrivers, driver: str | None, log: Any
) -> None:
    """Do what `give_up_driver` does; a failure is logged, not raised."""
    try:
        await give_up_driver(client, address, drivers, driver)
    except PravegaError as error:
        named = driver or f"the driver of {address.job}"
        log.warning("It is not known whether %s was killed: the cluster's page says it: %s", named, error)


async def forget_report(client: PravegaClient, address: ReportAddress, log: Any) -> None:
    """Remove a report that was recorded or refused; a failure is logged, not raised."""
    try:
        await JobReports(client, address).forget()
    except PravegaError as error:
        log.warning(
            "The report of %s is left in %s/%s, where the same task, if it is cleared, takes it again: %s",
            address.job,
            address.scope,
            TABLE,
            error,
        )


def check_ended_well(event: Mapping[str, Any], drivers: ClusterDrivers, driver: str, *, has_reported: bool) -> None:
    """Check the end of a driver, by the event of its trigger; a driver that was forgotten may have reported before.

    Raises:
        AirflowException: it has failed, was killed, or the cluster does not know it any more.
    """
    status = DriverStatus(**event["end"])
    if status.has_ended_well or (status.state is None and has_reported):
        return
    if status.state is None:
        raise AirflowException(
            f"no {drivers.server} knows {driver} any more, and its program has not reported. {drivers.if_lost}"
        )
    output = "" if status.output is None else f": its output is {status.output}"
    raise AirflowException(f"{driver} has ended as {status}{output}. {status.message or ''}".rstrip())


def hook_from(make: Callable[[], Any]) -> Any:
    """The hook that Airflow's provider of Spark makes.

    Raises:
        ConfigurationError: the connection leads to Kubernetes, and Airflow's provider for it is missing.
    """
    try:
        return make()
    except (NameError, RuntimeError) as error:  # a name of that provider, which the hook uses also if it is missing
        if "kube" not in str(error):
            raise
        raise ConfigurationError(f"the connection of Spark leads to Kubernetes. {MISSING}") from error
