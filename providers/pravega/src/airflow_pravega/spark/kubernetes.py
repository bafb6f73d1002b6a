"""Programs on drivers in pods of Kubernetes: submitted by `spark-submit`, known by the API of the cluster.

`spark-submit` ends once the pod is there. The name of the submission is a label of the pod, by which it is found if
that answer is lost. Airflow's provider of Kubernetes has the credentials, as its connection says.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import httpx
from airflow.providers.common.compat.sdk import AirflowException

from aiopravega.errors import ConfigurationError, PravegaConnectionError
from airflow_pravega.spark.by_spark_submit import NamedProgram, refuse_secrets, refuse_waiting
from airflow_pravega.spark.drivers import DEFAULT_NAME, ClusterDrivers, DriverStatus
from airflow_pravega.spark.pods import status_of

KUBERNETES: Final = "k8s://"
CONNECTION: Final = "kubernetes_conn_id"
MISSING: Final = (
    "Airflow's provider of Kubernetes is missing here: pip install 'airflow-provider-pravega[spark-kubernetes]' on "
    "workers and triggerers"
)
_NAMESPACE: Final = "namespace"
_SECONDS: Final = 30.0
# An API server that has just been started refuses everybody, until it has read who may do what.
_REFUSING_SECONDS: Final = 120.0
# Fields of Airflow's connection that choose a configuration; without one, a pod has its own.
_CHOICES: Final = ("in_cluster", "kube_config_path", "kube_config", "cluster_context")
_PREFIX: Final = "extra__kubernetes__"  # of the same fields, as earlier releases of Airflow have named them
_OWN_TOKEN: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_OWN_SERVER: Final = "KUBERNETES_SERVICE_HOST"
_LABEL: Final = "pravega-submission"
_WAITS: Final = "spark.kubernetes.submission.waitAppCompletion"
_POD_NAME: Final = "spark.kubernetes.driver.pod.name"
_VARIABLES: Final = ("spark.kubernetes.driverEnv.", "spark.executorEnv.")
_TOKEN: Final = ".oauthToken"  # the end of settings that have a token


class KubernetesDrivers(ClusterDrivers):
    """The drivers in a cluster of Kubernetes, by the namespaces and the names of their pods: `namespace:pod`.

    There is one server, the API of the cluster. `access` has the namespace, and the id of Airflow's connection.
    """

    cluster: ClassVar[str] = "kubernetes"
    server: ClassVar[str] = "API server of Kubernetes"
    without_credentials: ClassVar[str] = (
        f"the connection that the extra {CONNECTION} of the connection of Spark names has to be of an account that may "
        "get, list and delete the pods of the namespace"
    )
    right_address: ClassVar[str] = "the API server of Kubernetes, which the host of the connection of Spark names"
    if_lost: ClassVar[str] = (
        "Its pod was deleted, by a person or by the cluster, such as with a node that was lost or drained"
    )

    def __init__(self, servers: Sequence[str], access: Mapping[str, str] | None = None) -> None:
        super().__init__(servers, access)
        self._hook: Any = None
        self._is_admitted = False
        self._refused_since: float | None = None

    async def status(self, driver: str) -> DriverStatus:
        """See `ClusterDrivers`."""
        pod = await self._ask_for_pod("read_namespaced_pod", driver)
        return DriverStatus(None) if pod is None else status_of(pod)

    async def kill(self, driver: str) -> None:
        """See `ClusterDrivers`; the pod is deleted, and so is what it has said."""
        await self._ask_for_pod("delete_namespaced_pod", driver)

    async def find(self, submission: str) -> str | None:
        """See `ClusterDrivers`; by the label of the pod."""
        namespace = self.access[_NAMESPACE]
        found = await self._ask("list_namespaced_pod", namespace=namespace, label_selector=f"{_LABEL}={submission}")
        pods = [each["metadata"] for each in (found or {}).get("items", ())]
        newest = max(pods, key=lambda pod: pod["creationTimestamp"], default=None)
        return None if newest is None else f"{namespace}:{newest['name']}"

    async def _ask_for_pod(self, what: str, driver: str) -> dict[str, Any] | None:
        namespace, _, name = driver.partition(":")
        return await self._ask(what, namespace=namespace, name=name)

    async def _ask(self, what: str, **about: str) -> dict[str, Any] | None:
        """The answer of the API; None: it knows no such pod."""
        if self._hook is None:
            self._hook = await self._new_hook()
        answer = await self._answer(what, **about)
        if answer.status_code == httpx.codes.UNAUTHORIZED:  # to a token that was replaced meanwhile
            self._hook = await self._new_hook()
            answer = await self._answer(what, **about)
        if answer.status_code == httpx.codes.TOO_MANY_REQUESTS or answer.is_server_error:
            raise self._no_answer(f"it answers {answer.status_code}: {answer.text[:200]}")
        if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            refusal = f"answers {answer.status_code} ({_message(answer)})"
            now = time.monotonic()
            self._refused_since = self._refused_since or now
            if self._is_admitted and now <= self._refused_since + _REFUSING_SECONDS:
                raise self._no_answer(f"it {refusal}, and has answered before")
            raise ConfigurationError(f"{self.servers[0]} {refusal}: {self.without_credentials}")
        self._is_admitted, self._refused_since = True, None
        found = self.content(self.servers[0], answer)
        if answer.status_code == httpx.codes.NOT_FOUND and found.get("reason") == "NotFound":
            return None
        if answer.is_client_error:
            raise ConfigurationError(f"{self.servers[0]} refuses {what}: {_message(answer)}")
        return found

    async def _answer(self, what: str, **about: str) -> httpx.Response:
        import aiohttp
        from kubernetes_asyncio.client import CoreV1Api
        from kubernetes_asyncio.config import ConfigException

        try:
            async with self._hook.get_conn() as connection:
                # The credentials are for the cluster that has the program, whatever else they name.
                connection.configuration.host = self.servers[0]
                ask = getattr(CoreV1Api(connection), what)
                answer = await ask(**about, _preload_content=False, _request_timeout=_SECONDS)
                return httpx.Response(answer.status, content=await answer.read())
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise self._no_answer(f"{type(error).__name__}: {error}") from error
        except (ConfigException, AirflowException, OSError) as error:  # of the choice of a configuration, or its files
            if "exec: process returned" in str(error):  # of a plugin, which asks others for a token
                raise self._no_answer(str(error)) from error
            raise ConfigurationError(f"no credentials of Kubernetes by {self._named()}: {error}") from error

    async def _new_hook(self) -> Any:
        """The hook of Airflow's provider; without a choice in its connection, a pod has the account of its own."""
        try:
            made = import_module("airflow.providers.cncf.kubernetes.hooks.kubernetes").AsyncKubernetesHook
        except ImportError as error:
            raise ConfigurationError(MISSING) from error
        connection = self.access[CONNECTION]
        try:
            given = await made(conn_id=connection).get_conn_extras()
        except AirflowException as error:
            raise ConfigurationError(f"no credentials of Kubernetes by {self._named()}: {error}") from error
        extras = {key.removeprefix(_PREFIX): each for key, each in given.items() if each not in ("", None)}
        is_own = not any(extras.get(name) for name in _CHOICES) and _OWN_SERVER in os.environ and _OWN_TOKEN.exists()
        return made(conn_id=connection, connection_extras=extras, in_cluster=True if is_own else None)

    def _named(self) -> str:
        return f"the connection {self.access[CONNECTION]!r} of Airflow"

    def _no_answer(self, why: str) -> PravegaConnectionError:
        return PravegaConnectionError(f"no {self.server} answers: {self.servers[0]}: {why}")


def _message(answer: httpx.Response) -> str:
    """The message in an answer that refuses, which names the account and the right that it lacks."""
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:200]


@dataclass(frozen=True, slots=True)
class KubernetesProgram(NamedProgram):
    """A program for a cluster of Kubernetes."""

    known: KubernetesDrivers = field(kw_only=True, repr=False)
    if_unknown: ClassVar[str] = (
        "do spark-submit and Airflow's connection have the same namespace? spark-submit says its own in the log"
    )

    @classmethod
    def of(cls, hook: Any, application: str, name: str) -> Self:
        """The program that the hook of Airflow's provider would submit.

        Args:
            hook: the provider's hook, which is changed.
            application: the program.
            name: the name of the application, if the operator has none.

        Raises:
            ConfigurationError: the connection lacks the namespace, or an argument cannot work.
        """
        connection, conf = hook._connection, hook._conf  # noqa: SLF001  # the provider has no public way to read it
        given = hook._env_vars or {}  # noqa: SLF001  # the same
        environment = {str(key): str(value) for key, value in given.items()}
        if not connection[_NAMESPACE]:
            raise ConfigurationError(
                "deferrable=True on Kubernetes needs the namespace of the driver: say it by the extra namespace in the "
                "connection of Spark, or by spark.kubernetes.namespace in conf"
            )
        refuse_waiting(conf, _WAITS)
        refuse_secrets(
            environment,
            conf,
            _VARIABLES,
            "on a command line and in the pod's description: name a Secret of the cluster by "
            "spark.kubernetes.driver.secretKeyRef.PRAVEGA_PASSWORD (or …PRAVEGA_TOKEN), such as 'pravega:password'",
        )
        if tokens := sorted(each for each in conf if each.endswith(_TOKEN)):
            raise ConfigurationError(f"{', '.join(tokens)} would be on a command line: give it as a file, by …File")
        if _POD_NAME in conf:
            raise ConfigurationError(f"{_POD_NAME} is set, but each submission has a pod of its own: leave it out")
        hook._track_driver_via_k8s_api = True  # noqa: SLF001  # so that it knows no exit code of the driver
        hook._delete_driver_pod = lambda: None  # noqa: SLF001  # the operator does, by other credentials
        hook._name = name if hook._name == DEFAULT_NAME else hook._name  # noqa: SLF001  # the same
        hook._conf = {**conf, _WAITS: "false"}  # noqa: SLF001  # the same
        hook._env_vars = None  # noqa: SLF001  # they have a name of their own in the program
        words = hook._build_spark_submit_command(application)[1:]  # noqa: SLF001  # the same
        extra = hook.get_connection(hook._conn_id).extra_dejson  # noqa: SLF001  # the same
        address = connection["master"].removeprefix(KUBERNETES)
        server = (address if "://" in address else f"https://{address}").rstrip("/")
        access = {_NAMESPACE: connection[_NAMESPACE], CONNECTION: extra.get(CONNECTION) or "kubernetes_default"}
        return cls(
            (server,),
            tuple(str(word) for word in words),
            {str(key): str(value) for key, value in hook._conf.items()},  # noqa: SLF001  # the same
            environment,
            hook=hook,
            application=application,
            known=KubernetesDrivers((server,), access),
        )

    @property
    def drivers(self) -> KubernetesDrivers:
        """See `ClusterProgram`."""
        return self.known

    def naming(self, submission: str) -> dict[str, str]:
        """See `NamedProgram`: a label of the pod."""
        return {f"spark.kubernetes.driver.label.{_LABEL}": submission}
