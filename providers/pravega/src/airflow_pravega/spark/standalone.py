"""Programs on drivers of a standalone cluster of Spark, by the REST servers of its masters.

Airflow's provider of Spark makes the words of a `spark-submit`; the driver runs that command itself, in the mode
client, because a master starts classes of the JVM only. Masters have the server with `spark.master.rest.enabled`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import httpx

from aiopravega.errors import ConfigurationError, PravegaTimeoutError, ServerError
from airflow_pravega.spark.drivers import DEFAULT_NAME, ClusterDrivers, ClusterProgram, DriverStatus, OtherServerError

STANDALONE: Final = "spark://"
_ACTIVE: Final = ("SUBMITTED", "RUNNING", "RELAUNCHING", "UNKNOWN")  # unknown: while a master recovers
_WELL: Final = "FINISHED"
# A master that stands by, or recovers, says so; another one, or the same one later, can answer.
_NOT_ALIVE: Final = "not alive"
_MAIN_CLASS: Final = "org.apache.spark.deploy.SparkSubmit"


class StandaloneDrivers(ClusterDrivers):
    """The drivers of a standalone cluster; the servers are the REST servers of its masters."""

    cluster: ClassVar[str] = "standalone"
    server: ClassVar[str] = "master of Spark"
    without_credentials: ClassVar[str] = (
        "it asks for a token (spark.master.rest.filters), which the operator does not send. Say deferrable=False and "
        "the deploy mode client, or let the master take it without"
    )
    right_address: ClassVar[str] = (
        "the REST server of a Spark master. Start the master with spark.master.rest.enabled=true, and name its port by "
        "the connection's extra rest-port"
    )
    if_lost: ClassVar[str] = "One that was started again keeps its drivers with spark.deploy.recoveryMode"

    async def submit(self, request: Mapping[str, Any]) -> str:
        """Submit a program; returns the id of its driver.

        Raises:
            ConfigurationError: the master refuses the program.
            PravegaTimeoutError: no answer came: the program may have arrived.
            ServerError: a master fails: the program may have arrived.
            PravegaConnectionError: no master can be reached, or none is alive.
        """
        return str((await self._ask("POST", "create", request))["submissionId"])

    async def status(self, driver: str) -> DriverStatus:
        """See `ClusterDrivers`."""
        found = await self._ask("GET", f"status/{driver}")
        if not found.get("success"):
            return DriverStatus(None, message=found.get("message"))
        state, worker = found["driverState"], found.get("workerHostPort")
        return DriverStatus(
            state,
            is_active=state in _ACTIVE,
            has_ended_well=state == _WELL,
            node=worker,
            output=None if worker is None else "in the work folder of that worker",
            message=found.get("message"),
        )

    async def kill(self, driver: str) -> None:
        """See `ClusterDrivers`."""
        await self._ask("POST", f"kill/{driver}")

    async def find(self, submission: str) -> str | None:
        """None: masters keep no name of a submission."""
        return None

    async def _ask(self, method: str, path: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        async def ask(client: httpx.AsyncClient, server: str) -> dict[str, Any]:
            address = f"{server}/v1/submissions/{path}"
            try:
                found = self.content(server, await client.request(method, address, json=request))
            except (httpx.TransportError, ServerError) as error:
                # Another master must not get a program that may have arrived at this one.
                if request is not None and isinstance(error, ServerError):
                    raise
                if request is not None and not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                    raise PravegaTimeoutError(f"no answer of {address}: {error!r}") from error
                raise OtherServerError(repr(error)) from error
            message = str(found.get("message") or "")
            if found.get("action") == "ErrorResponse":
                raise ConfigurationError(f"Spark's master refuses {address}: {message}")
            if not found.get("success") and _NOT_ALIVE in message:
                raise OtherServerError(message)
            if request is not None and not found.get("success"):
                raise ConfigurationError(f"Spark's master refuses the program: {message}")
            return found

        return await self.first_answer(ask)


@dataclass(frozen=True, slots=True)
class StandaloneProgram(ClusterProgram):
    """A program for a standalone cluster."""

    @classmethod
    def of(cls, hook: Any, application: str, name: str) -> Self:
        """The program that the hook of Airflow's provider would submit.

        Args:
            hook: the provider's hook, which is changed.
            application: the program.
            name: the name of the application in Spark's pages, if the operator has none.
        """
        connection = hook._connection  # noqa: SLF001  # the provider has no public way to read it
        master = connection["master"]
        connection["deploy_mode"] = "client"
        hook._name = name if hook._name == DEFAULT_NAME else hook._name  # noqa: SLF001  # the same
        environment, hook._env_vars = hook._env_vars or {}, None  # noqa: SLF001  # the same
        words = hook._build_spark_submit_command(application)[1:]  # noqa: SLF001  # the same
        settings = {"spark.app.name": hook._name, "spark.master": master, **hook._conf}  # noqa: SLF001  # the same
        if hook._driver_memory:  # noqa: SLF001  # the same
            settings["spark.driver.memory"] = hook._driver_memory  # noqa: SLF001  # the same
        scheme, port = connection.get("rest_scheme", "http"), connection.get("rest_port", 6066)
        hosts = [each.rpartition(":")[0] or each for each in master.removeprefix(STANDALONE).split(",")]
        return cls(
            tuple(f"{scheme}://{host}:{port}" for host in hosts),
            tuple(str(word) for word in words),
            {str(key): str(value) for key, value in settings.items()},
            {str(key): str(value) for key, value in environment.items()},
        )

    @property
    def drivers(self) -> StandaloneDrivers:
        """See `ClusterProgram`."""
        return StandaloneDrivers(self.servers)

    async def submit(self, submission: str, variables: Mapping[str, str]) -> str:
        """See `ClusterProgram`; masters get no name of the submission."""
        return await self.drivers.submit(self.request(variables))

    def request(self, variables: Mapping[str, str]) -> dict[str, Any]:
        """The request of the masters' REST servers; `variables` are added to the environment of the driver."""
        return {
            "action": "CreateSubmissionRequest",
            "appResource": "",
            "mainClass": _MAIN_CLASS,
            "appArgs": list(self.words),
            "clientSparkVersion": "",
            "environmentVariables": {**self.environment, **variables},
            "sparkProperties": dict(self.settings),
        }
