"""Programs for drivers of a standalone cluster: submitted once, found again by a further try, or given up by name.

The report's entry in Pravega says which driver has the work. A program starts only while the entry has its
submission's name. So a submission that may have arrived or not is replaced, and its program does nothing.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

from airflow.providers.common.compat.sdk import AirflowException

from aiopravega.client import PravegaClient
from aiopravega.config import ENVIRONMENT_PREFIX
from aiopravega.errors import ConfigurationError, PravegaError, TableConflictError
from airflow_pravega.spark.standalone import DriverStatus, StandaloneDrivers, StandaloneProgram
from pravega_jobs.remote.orders import WorkOrder
from pravega_jobs.remote.reports import TABLE, JobReports, ReportAddress, Submission


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
    program: StandaloneProgram
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
            ConfigurationError: the master refuses the program, or a setting is a secret.
            PravegaError: the masters, or Pravega, cannot be reached.
        """
        name, program = self.program.name_of(work), self.program.with_settings(settings)
        while True:
            newest = await JobReports(self.client, ReportAddress(self.scope, self.job, "")).newest()
            found = None if newest is None else newest[0]
            if found is not None and found.work == name and await self._is_usable(found):
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
                await self._replace(found, is_other_work=found.work != name)
            self.driver = await self._drivers.submit(program.request(variables(address)))
            self.log.info("Submitted as %s to %s", self.driver, ", ".join(self.program.servers))
            await reports.watched(self.driver, self.watcher)
            return address

    def named(self, address: ReportAddress) -> dict[str, Any]:
        """The names by which others find the driver and its report, as plain JSON."""
        return {"servers": list(self.program.servers), "driver": self.driver, "job": asdict(address)}

    async def give_up(self) -> None:
        """Kill the driver, if there is one, and refuse the program's report.

        Raises:
            PravegaError: the masters, or Pravega, cannot be reached.
        """
        if self._address is not None:
            await give_up_driver(self.client, self._address, self.program.servers, self.driver)

    @property
    def _drivers(self) -> StandaloneDrivers:
        return StandaloneDrivers(self.program.servers)

    async def _is_usable(self, found: Submission) -> bool:
        """True if the driver of an earlier try is at work, or has ended after its program has reported results.

        A driver can fail after its report. A driver that no master knows any more has ended.
        """
        if found.driver is None or (found.report is not None and "error" in found.report):
            return False
        has_reported = found.report is not None
        status = await self._drivers.status(found.driver)
        is_done = has_reported and (status.has_ended_well or status.state is None)
        if not (status.is_active or is_done):
            return False
        self.driver = found.driver
        reports = JobReports(self.client, ReportAddress(self.scope, self.job, found.submission))
        await reports.watched(found.driver, self.watcher)
        done = ", and whose program has reported" if has_reported else ""
        self.log.info("Found again: %s, which an earlier try has submitted%s", found.driver, done)
        return True

    async def _replace(self, found: Submission, *, is_other_work: bool) -> None:
        """Say what an earlier try has left, which is refused from now on; kill its driver if it has other work."""
        if found.driver is None and found.report is None:
            self.log.warning(
                "An earlier try was ended while it submitted. If its program has arrived, it is refused when it begins"
            )
        elif found.driver is not None and is_other_work and (await self._drivers.status(found.driver)).is_active:
            self.log.warning("The task has other arguments now: killing %s, which has the old ones", found.driver)
            await self._drivers.kill(found.driver)


async def give_up_driver(
    client: PravegaClient, address: ReportAddress, servers: Sequence[str], driver: str | None
) -> None:
    """Refuse the report of a program, so that it does not begin, and kill its driver.

    Raises:
        PravegaError: the masters, or Pravega, cannot be reached.
    """
    try:
        await JobReports(client, address).forget()
    finally:
        if driver is not None:
            await StandaloneDrivers(servers).kill(driver)


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


def check_ended_well(event: Mapping[str, Any], driver: str, *, has_reported: bool) -> None:
    """Check the end of a driver, by the event of its trigger; a driver that was forgotten may have reported before.

    Raises:
        AirflowException: it has failed, was killed, or no master knows it any more.
    """
    status = DriverStatus(event["state"], event["worker"], event["message"])
    if status.has_ended_well or (status.state is None and has_reported):
        return
    if status.state is None:
        raise AirflowException(
            f"no master of Spark knows {driver} any more, and its program has not reported. A master that was started "
            "again keeps its drivers with spark.deploy.recoveryMode"
        )
    where = "" if status.worker is None else f" on {status.worker}: its output is in the work folder of that worker"
    raise AirflowException(f"{driver} has ended as {status.state}{where}. {status.message or ''}".rstrip())


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
        raise ConfigurationError(
            "the connection of Spark leads to Kubernetes, which needs Airflow's provider for it: pip install "
            "apache-airflow-providers-cncf-kubernetes. With deferrable=True, only drivers on a standalone cluster are "
            "waited for"
        ) from error


@contextmanager
def environment_with(secrets: Mapping[str, str]) -> Iterator[None]:
    """Run a block whose processes have the secrets, and no other settings of Pravega, in their environment."""
    before = {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT_PREFIX)}
    for name in before:
        del os.environ[name]
    os.environ |= secrets
    try:
        yield
    finally:
        for name in secrets:
            os.environ.pop(name, None)
        os.environ |= before
