"""Programs on drivers in a cluster of YARN: submitted by `spark-submit`, known by the REST API of the ResourceManager.

`spark-submit` ends once the ResourceManager has accepted the application. The name of the submission is a tag of the
application, by which it is found if that answer is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import httpx

from aiopravega.errors import ConfigurationError, ServerError
from airflow_pravega.spark.by_spark_submit import NamedProgram, refuse_secrets, refuse_waiting
from airflow_pravega.spark.drivers import DEFAULT_NAME, ClusterDrivers, DriverStatus, OtherServerError

YARN: Final = "yarn"
ADDRESS: Final = "yarn_resourcemanager_webapp_address"  # as Airflow's provider names it
_ENDED: Final = ("FINISHED", "FAILED", "KILLED")
_WELL: Final = "SUCCEEDED"
_ACTIVE: Final = "ACTIVE"
_LONGEST_MESSAGE: Final = 2000  # YARN repeats the end of a container's output in it
_TAGS: Final = "spark.yarn.tags"
_WAITS: Final = "spark.yarn.submit.waitAppCompletion"
_ATTEMPTS: Final = "spark.yarn.maxAppAttempts"
_DRIVER_VARIABLE: Final = "spark.yarn.appMasterEnv."


class YarnDrivers(ClusterDrivers):
    """The drivers in a cluster of YARN, by the ids of their applications.

    The servers are the web addresses of the ResourceManagers; one that stands by redirects to the active one.
    """

    cluster: ClassVar[str] = YARN
    server: ClassVar[str] = "ResourceManager"
    without_credentials: ClassVar[str] = (
        "it asks who asks (Kerberos, or a list of those who may), and the operator sends no credentials. Say "
        "deferrable=False, with yarn_track_via_rm_api=True of Airflow's provider"
    )
    right_address: ClassVar[str] = (
        "the web address of a ResourceManager (yarn.resourcemanager.webapp.address): name it by the connection's extra "
        f"{ADDRESS}"
    )
    if_lost: ClassVar[str] = "One that was started again keeps its drivers with yarn.resourcemanager.recovery.enabled"

    async def status(self, driver: str) -> DriverStatus:
        """See `ClusterDrivers`; the state of an application that is `FINISHED` is its final status."""
        found = await self._ask("GET", f"/{driver}")
        if found is None:
            return DriverStatus(None)
        app = found["app"]
        state = app["finalStatus"] if app["state"] == "FINISHED" else app["state"]
        return DriverStatus(
            state,
            is_active=app["state"] not in _ENDED,
            has_ended_well=state == _WELL,
            node=app.get("amHostHttpAddress"),
            output=app.get("amContainerLogs"),
            message=(app.get("diagnostics") or "")[:_LONGEST_MESSAGE].strip() or None,
        )

    async def kill(self, driver: str) -> None:
        """See `ClusterDrivers`."""
        await self._ask("PUT", f"/{driver}/state", request={"state": "KILLED"})

    async def find(self, submission: str) -> str | None:
        """See `ClusterDrivers`; by the tag of the application."""
        found = await self._ask("GET", "", tags=submission)
        apps = ((found or {}).get("apps") or {}).get("app") or []
        newest = max(apps, key=lambda app: app["startedTime"], default=None)
        return None if newest is None else str(newest["id"])

    async def _ask(
        self, method: str, path: str, *, tags: str | None = None, request: Mapping[str, str] | None = None
    ) -> dict[str, Any] | None:
        """The answer about applications; None: the ResourceManager does not know the application."""

        async def ask(client: httpx.AsyncClient, server: str) -> dict[str, Any] | None:
            async def answer(method: str, path: str, **given: Any) -> tuple[int, dict[str, Any]]:
                address = f"{server}/ws/v1/cluster{path}"
                headers = {"accept": "application/json"}
                try:
                    found = await client.request(method, address, headers=headers, follow_redirects=True, **given)
                    if found.is_redirect:  # without an address: no ResourceManager is active
                        raise OtherServerError(found.text[:200])
                    return found.status_code, self.content(server, found)
                except (httpx.HTTPError, ServerError) as error:
                    raise OtherServerError(repr(error)) from error

            async def applications() -> dict[str, Any] | None:
                params = None if tags is None else {"applicationTags": tags}
                status, found = await answer(method, f"/apps{path}", params=params, json=request)
                refusal = found.get("RemoteException")
                if refusal is None:
                    return found
                if status == httpx.codes.NOT_FOUND and refusal.get("exception") == "NotFoundException":
                    return None
                raise ConfigurationError(f"the ResourceManager {server} refuses {path}: {refusal.get('message')}")

            found = await applications()
            if found is not None and found.get("apps", True):
                return found
            # One that has just been started answers before it has read what it knew.
            _, about = await answer("GET", "/info")
            state = about["clusterInfo"]["haState"]
            if state != _ACTIVE:
                raise OtherServerError(f"the ResourceManager is {state}")
            return await applications()

        return await self.first_answer(ask)


@dataclass(frozen=True, slots=True)
class YarnProgram(NamedProgram):
    """A program for a cluster of YARN."""

    if_unknown: ClassVar[str] = f"does {ADDRESS} name the ResourceManager that HADOOP_CONF_DIR names?"

    @classmethod
    def of(cls, hook: Any, application: str, name: str) -> Self:
        """The program that the hook of Airflow's provider would submit.

        Args:
            hook: the provider's hook, which is changed.
            application: the program.
            name: the name of the application in YARN's pages, if the operator has none.

        Raises:
            ConfigurationError: the connection lacks the address of the ResourceManager, or an argument cannot work.
        """
        connection, conf = hook._connection, hook._conf  # noqa: SLF001  # the provider has no public way to read it
        given = hook._env_vars or {}  # noqa: SLF001  # the same
        environment = {str(key): str(value) for key, value in given.items()}
        servers = _addresses(hook)
        kerberos = [each for each in ("keytab", "principal") if connection[each]]
        kerberos += [each for each in ("use_krb5ccache", "yarn_rm_auth") if getattr(hook, f"_{each}", None)]
        if kerberos:
            raise ConfigurationError(
                f"deferrable=True does not take {', '.join(kerberos)} on YARN: the operator sends no credentials to "
                "the ResourceManager. Say deferrable=False, with yarn_track_via_rm_api=True of Airflow's provider"
            )
        refuse_waiting(conf, _WAITS)
        refuse_secrets(
            environment,
            conf,
            [_DRIVER_VARIABLE],
            "on a command line and on YARN's pages: give the nodes, or the program, the secret by the cluster's own "
            "means",
        )
        hook._yarn_track_via_rm_api = True  # noqa: SLF001  # so that its on_kill asks no program `yarn`
        hook._yarn_rm_base_url = servers[0]  # noqa: SLF001  # the same
        hook._name = name if hook._name == DEFAULT_NAME else hook._name  # noqa: SLF001  # the same
        hook._conf = {_ATTEMPTS: "1", **conf, _WAITS: "false"}  # noqa: SLF001  # Airflow makes the tries
        hook._env_vars = None  # noqa: SLF001  # they have a name of their own in the program
        words = hook._build_spark_submit_command(application)[1:]  # noqa: SLF001  # the same
        return cls(
            servers,
            tuple(str(word) for word in words),
            {str(key): str(value) for key, value in hook._conf.items()},  # noqa: SLF001  # the same
            environment,
            hook=hook,
            application=application,
        )

    @property
    def drivers(self) -> YarnDrivers:
        """See `ClusterProgram`."""
        return YarnDrivers(self.servers)

    def naming(self, submission: str) -> dict[str, str]:
        """See `NamedProgram`: a tag of the application."""
        return {_TAGS: ",".join(filter(None, (self.settings.get(_TAGS), submission)))}


def _addresses(hook: Any) -> tuple[str, ...]:
    """The web addresses of the ResourceManagers, as the connection names them."""
    extra = hook.get_connection(hook._conn_id).extra_dejson  # noqa: SLF001  # the provider has no public way to read it
    given = [each.strip() for each in str(extra.get(ADDRESS) or "").split(",") if each.strip()]
    if not given:
        raise ConfigurationError(
            f"deferrable=True on YARN needs the extra {ADDRESS} in the connection of Spark, such as http://rm:8088 "
            "(two, with a comma between them, for ResourceManagers that stand by for each other)"
        )
    return tuple((each if "://" in each else f"http://{each}").rstrip("/") for each in given)
