"""Programs on the drivers of a cluster of Spark, whatever its kind: what a submission needs of the cluster.

`standalone`, `yarn` and `kubernetes` implement it. The rule that makes a submission safe is in `submission`, written
once.
"""

import asyncio
import hashlib
import json
import os
import ssl
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Final, Self, TypeVar

import httpx

from aiopravega.config import ENVIRONMENT_PREFIX
from aiopravega.errors import ConfigurationError, PravegaConnectionError, ServerError
from pravega_jobs.remote.orders import WorkOrder

DEFAULT_NAME: Final = "arrow-spark"  # of an application, by the provider
_SECONDS: Final = 30.0
# OpenLineage's settings that can be secrets: a key, and headers such as `Authorization`.
_TRANSPORT: Final = "spark.openlineage.transport"
_SECRETS: Final = (".auth.", ".headers.")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class DriverStatus:
    """The state of a driver, as the cluster names it; None: the cluster does not know the driver.

    `is_active`: the driver runs, or will run. `has_ended_well`: the program has ended without an error. `node` runs
    the driver, and `output` says where its output is. `has_begun`: the cluster does not say that it only waits.
    """

    state: str | None
    is_active: bool = False
    has_ended_well: bool = False
    node: str | None = None
    output: str | None = None
    message: str | None = None
    has_begun: bool = True

    def __str__(self) -> str:
        return f"{self.state}{'' if self.node is None else f' on {self.node}'}"


class OtherServerError(Exception):
    """A server does not answer, or stands by: another one can answer."""


class ClusterDrivers(ABC):
    """The drivers of a cluster.

    Args:
        servers: addresses of the REST servers that know the drivers, such as `http://spark:6066`. The first one that
            is alive answers.
        access: names, none of them secret, by which a kind of cluster finds the drivers and its credentials.
    """

    # The kind of cluster, in the arguments of a trigger.
    cluster: ClassVar[str]
    # A server, in messages.
    server: ClassVar[str]
    # The way out if a server wants to know who asks.
    without_credentials: ClassVar[str]
    # The way out if an address is that of another server.
    right_address: ClassVar[str]
    # Why a driver may not be known any more, and what helps.
    if_lost: ClassVar[str]

    def __init__(self, servers: Sequence[str], access: Mapping[str, str] | None = None) -> None:
        self.servers = tuple(servers)
        self.access = dict(access or {})

    @abstractmethod
    async def status(self, driver: str) -> DriverStatus:
        """The state of a driver.

        Raises:
            ConfigurationError: a server asks for credentials, or is another server.
            PravegaConnectionError: no server can be reached, or none is alive.
        """

    @abstractmethod
    async def kill(self, driver: str) -> None:
        """Kill a driver, if it runs or waits.

        Raises:
            ConfigurationError: a server asks for credentials, or is another server.
            PravegaConnectionError: no server can be reached, or none is alive.
        """

    @abstractmethod
    async def find(self, submission: str) -> str | None:
        """The driver of a submission whose answer was lost; None: there is none, or the cluster keeps no names.

        Raises:
            ConfigurationError: a server asks for credentials, or is another server.
            PravegaConnectionError: no server can be reached, or none is alive.
        """

    async def first_answer(self, ask: Callable[[httpx.AsyncClient, str], Awaitable[_Answer]]) -> _Answer:
        """The answer of the first server for which `ask` does not raise `OtherServerError`.

        Raises:
            PravegaConnectionError: none has answered.
        """
        failures = []
        # In a thread: certificates are read, and a triggerer has one event loop for all.
        trusted = await asyncio.to_thread(_trusted)
        async with httpx.AsyncClient(timeout=_SECONDS, verify=trusted) as client:
            for server in self.servers:
                try:
                    return await ask(client, server)
                except OtherServerError as error:
                    failures.append(f"{server}: {error}")
        raise PravegaConnectionError(f"no {self.server} answers: {'; '.join(failures)}")

    def content(self, server: str, answer: httpx.Response) -> dict[str, Any]:
        """The JSON object of an answer.

        Raises:
            ConfigurationError: the server asks for credentials, or is another server.
            ServerError: the server fails.
        """
        if answer.is_server_error:
            raise ServerError(f"{server} answers {answer.status_code}: {answer.text[:200]}")
        if answer.status_code in {401, 403}:
            raise ConfigurationError(f"{server} answers {answer.status_code}: {self.without_credentials}")
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ConfigurationError(
                f"{server} answers {answer.status_code} without a JSON object: it is not {self.right_address}"
            )
        return found


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that this process trusts, read once."""
    return httpx.create_ssl_context()


@dataclass(frozen=True, slots=True)
class ClusterProgram(ABC):
    """A program, as the words of a `spark-submit`, with the settings and the environment of its driver.

    `servers` are the addresses of its cluster's REST servers.
    """

    servers: tuple[str, ...]
    words: tuple[str, ...]
    settings: Mapping[str, str]
    environment: Mapping[str, str]

    @property
    @abstractmethod
    def drivers(self) -> ClusterDrivers:
        """The drivers of the program's cluster."""

    @abstractmethod
    async def submit(self, submission: str, variables: Mapping[str, str]) -> str:
        """Submit the program; returns the id of its driver.

        Args:
            submission: the name of the submission.
            variables: variables of the driver's environment, without secrets.

        Raises:
            ConfigurationError: the cluster refuses the program.
            PravegaTimeoutError: no answer came: the program may have arrived.
            ServerError: a server fails: the program may have arrived.
            PravegaConnectionError: no server can be reached, or none is alive.
        """

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The program with more settings of Spark, which come to a command line.

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
