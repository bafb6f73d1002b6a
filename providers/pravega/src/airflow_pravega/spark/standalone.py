"""Programs on drivers of a standalone cluster of Spark, by the REST servers of its masters.

Airflow's provider of Spark makes the words of a `spark-submit`; the driver runs that command itself, in the mode
client, because a master starts classes of the JVM only. Masters have the server with `spark.master.rest.enabled`.
"""

import asyncio
import hashlib
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Self

import httpx

from aiopravega.errors import ConfigurationError, PravegaConnectionError, PravegaTimeoutError, ServerError
from pravega_jobs.remote.orders import WorkOrder

_ACTIVE: Final = ("SUBMITTED", "RUNNING", "RELAUNCHING", "UNKNOWN")  # unknown: while a master recovers
_WELL: Final = "FINISHED"
_SECONDS: Final = 30.0
# A master that stands by, or recovers, says so; another one, or the same one later, can answer.
_NOT_ALIVE: Final = "not alive"
_MAIN_CLASS: Final = "org.apache.spark.deploy.SparkSubmit"
_NAME: Final = "arrow-spark"  # by default, of the provider
_STANDALONE: Final = "spark://"
# OpenLineage's settings that can be secrets: a key, and headers such as `Authorization`.
_TRANSPORT: Final = "spark.openlineage.transport"
_SECRETS: Final = (".auth.", ".headers.")


@dataclass(frozen=True, slots=True)
class DriverStatus:
    """The state of a driver, as the master names it; None: the master does not know the driver."""

    state: str | None
    worker: str | None = None
    message: str | None = None

    @property
    def is_active(self) -> bool:
        """True if the driver runs, or will run."""
        return self.state in _ACTIVE

    @property
    def has_ended_well(self) -> bool:
        """True if the program has ended without an error."""
        return self.state == _WELL


class StandaloneDrivers:
    """The drivers of a cluster.

    Args:
        servers: addresses of the masters' REST servers, such as `http://spark:6066`. The first one that is alive
            answers.
    """

    def __init__(self, servers: Sequence[str]) -> None:
        self._servers = servers

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
        """The state of a driver.

        Raises:
            PravegaConnectionError: no master can be reached, or none is alive.
        """
        found = await self._ask("GET", f"status/{driver}")
        if not found.get("success"):
            return DriverStatus(None, message=found.get("message"))
        return DriverStatus(found["driverState"], found.get("workerHostPort"), found.get("message"))

    async def kill(self, driver: str) -> None:
        """Kill a driver, if it runs or waits.

        Raises:
            PravegaConnectionError: no master can be reached, or none is alive.
        """
        await self._ask("POST", f"kill/{driver}")

    async def _ask(self, method: str, path: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        failures = []
        # In a thread: certificates are read, and a triggerer has one event loop for all.
        trusted = await asyncio.to_thread(_trusted)
        async with httpx.AsyncClient(timeout=_SECONDS, verify=trusted) as client:
            for server in self._servers:
                address = f"{server}/v1/submissions/{path}"
                try:
                    found = _content(server, await client.request(method, address, json=request))
                except (httpx.TransportError, ServerError) as error:
                    # Another master must not get a program that may have arrived at this one.
                    if request is not None and isinstance(error, ServerError):
                        raise
                    if request is not None and not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                        raise PravegaTimeoutError(f"no answer of {address}: {error!r}") from error
                    failures.append(f"{server}: {error!r}")
                    continue
                message = str(found.get("message") or "")
                if found.get("action") == "ErrorResponse":
                    raise ConfigurationError(f"Spark's master refuses {address}: {message}")
                if not found.get("success") and _NOT_ALIVE in message:
                    failures.append(f"{server}: {message}")
                    continue
                if request is not None and not found.get("success"):
                    raise ConfigurationError(f"Spark's master refuses the program: {message}")
                return dict(found)
        raise PravegaConnectionError(f"no master of Spark answers: {'; '.join(failures)}")


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that this process trusts, read once."""
    return httpx.create_ssl_context()


def _content(server: str, answer: httpx.Response) -> dict[str, Any]:
    if answer.is_server_error:
        raise ServerError(f"{server} answers {answer.status_code}: {answer.text[:200]}")
    if answer.status_code in {401, 403}:
        raise ConfigurationError(
            f"{server} answers {answer.status_code}: it asks for a token (spark.master.rest.filters), which the "
            "operator does not send. Say deferrable=False and the deploy mode client, or let the master take it without"
        )
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigurationError(
            f"{server} answers {answer.status_code} without a JSON object: it is not the REST server of a Spark "
            "master. Start the master with spark.master.rest.enabled=true, and name its port by the connection's extra "
            "rest-port"
        )
    return found


@dataclass(frozen=True, slots=True)
class StandaloneProgram:
    """A program, as the words of a `spark-submit`, with the settings and the environment of its driver."""

    servers: tuple[str, ...]
    words: tuple[str, ...]
    settings: Mapping[str, str]
    environment: Mapping[str, str]

    @classmethod
    def of(cls, hook: Any, application: str, name: str) -> Self:
        """The program that the hook of Airflow's provider would submit; it must lead to a standalone cluster.

        Args:
            hook: the provider's hook, which is changed.
            application: the program.
            name: the name of the application in Spark's pages, if the operator has none.

        Raises:
            ConfigurationError: the connection leads elsewhere, or an argument cannot work.
        """
        connection = hook._connection  # noqa: SLF001  # the provider has no public way to read it
        master, mode = connection["master"], connection["deploy_mode"]
        if not master.startswith(_STANDALONE):
            raise ConfigurationError(
                f"deferrable=True, but the connection of Spark leads to {master}: only drivers on a standalone cluster "
                "(spark://host:port) are waited for on the triggerer. On YARN and Kubernetes say deferrable=False; for "
                "Spark Connect, whose client is the program itself, take PravegaSparkWriteOperator"
            )
        if mode != "cluster":
            raise ConfigurationError(
                f"deferrable=True, but the deploy mode is {mode or 'client'}, in which the driver is a child of the "
                "worker. Say deploy_mode='cluster', or deploy-mode in the extra of the connection"
            )
        if hook._post_submit_commands:  # noqa: SLF001  # the same
            raise ConfigurationError("post_submit_commands run on a worker, so deferrable=True does not take them")
        connection["deploy_mode"] = "client"
        hook._name = name if hook._name == _NAME else hook._name  # noqa: SLF001  # the same
        environment, hook._env_vars = hook._env_vars or {}, None  # noqa: SLF001  # the same
        words = hook._build_spark_submit_command(application)[1:]  # noqa: SLF001  # the same
        settings = {"spark.app.name": hook._name, "spark.master": master, **hook._conf}  # noqa: SLF001  # the same
        if hook._driver_memory:  # noqa: SLF001  # the same
            settings["spark.driver.memory"] = hook._driver_memory  # noqa: SLF001  # the same
        scheme, port = connection.get("rest_scheme", "http"), connection.get("rest_port", 6066)
        hosts = [each.rpartition(":")[0] or each for each in master.removeprefix(_STANDALONE).split(",")]
        return cls(
            tuple(f"{scheme}://{host}:{port}" for host in hosts),
            tuple(str(word) for word in words),
            {str(key): str(value) for key, value in settings.items()},
            {str(key): str(value) for key, value in environment.items()},
        )

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The program with more settings of Spark, which come to the command line of the driver.

        Raises:
            ConfigurationError: one of them is a secret of OpenLineage.
        """
        secrets = [name for name in settings if name.startswith(_TRANSPORT) and any(part in name for part in _SECRETS)]
        if secrets:
            raise ConfigurationError(
                f"Airflow's configuration adds {', '.join(secrets)} to the settings of Spark. A secret must not be on "
                "the command line of a driver: say openlineage_inject_transport_info=False, and name the transport of "
                "OpenLineage on the cluster, in spark-defaults.conf of its workers"
            )
        more = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        return replace(self, words=(*more, *self.words))

    def name_of(self, work: WorkOrder) -> str:
        """A name for this program with a work: equal for tries that would submit the same."""
        parts = [self.words, dict(self.environment), work.to_json()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

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
