"""The hook: from the id of an Airflow connection to a client."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from airflow.providers.common.compat.connection import get_async_connection
from airflow.providers.common.compat.lineage.hook import get_hook_lineage_collector
from airflow.providers.common.compat.sdk import BaseHook, get_current_context

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import TakenRange
from aiopravega.config import PravegaConfig
from aiopravega.errors import PravegaError
from aiopravega.loop import LoopThread
from aiopravega.schema import RegistryConfig
from airflow_pravega.asset_events import tell, took
from airflow_pravega.connections.check import check_connection
from airflow_pravega.connections.pravega import (
    SCHEMA_REGISTRY,
    SPARK_MASTER,
    config_from_connection,
    connection_extras,
    registry_from_connection,
)
from airflow_pravega.tasks.ranges import task_range

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

C = TypeVar("C", PravegaConfig, RegistryConfig)

# Seconds for which a user waits for a form or a page.
_PATIENCE: Final = 10.0


class PravegaHook(BaseHook):
    """Reaches a Pravega cluster through an Airflow connection.

    Args:
        pravega_conn_id: id of a connection of the type `pravega`.
    """

    conn_name_attr = "pravega_conn_id"
    default_conn_name = "pravega_default"
    conn_type = "pravega"
    hook_name = "Pravega"

    def __init__(self, pravega_conn_id: str = default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pravega_conn_id = pravega_conn_id

    def get_config(self) -> PravegaConfig:
        """The configuration of a client.

        Raises:
            AirflowNotFoundException: there is no such connection.
            ConfigurationError: it cannot work.
        """
        return config_from_connection(self.get_connection(self.pravega_conn_id))

    async def aget_config(self) -> PravegaConfig:
        """The configuration of a client, for triggers: the call does not block the event loop.

        Raises:
            AirflowNotFoundException: there is no such connection.
            ConfigurationError: it cannot work.
        """
        return config_from_connection(await get_async_connection(self.pravega_conn_id, self))

    def get_client(self) -> PravegaClient:
        """A blocking client; use it with `with`, which connects it.

        Raises:
            AirflowNotFoundException: there is no such connection.
            ConfigurationError: it cannot work.
        """
        return PravegaClient(self.get_config())

    def get_impatient_client(self) -> PravegaClient:
        """A blocking client for a page that a user waits for: it gives up after 10 seconds, without a retry.

        Raises:
            AirflowNotFoundException: there is no such connection.
            ConfigurationError: it cannot work.
        """
        return PravegaClient(_impatient(self.get_config()))

    @contextmanager
    def range(self, cuts: Mapping[str, str], *, parts: Sequence[str] = ()) -> Iterator[TakenRange]:
        """Give a range to a block of a task of your own; at its end the interval that the range names is done.

        If the block raises and the task is not tried again, the interval has failed; otherwise it stays open, and the
        next try has the same range. A block that skips the task has decided that there is nothing to do: the interval
        is done. `@task.pravega_range` does the same for a whole function, and is known to the sensor.

        Args:
            cuts: the range, as a sensor gives it: the value of the task's argument. A part of a split range names no
                interval, so that nothing is recorded.
            parts: the ids of all tasks that process the range, if they are several: the interval is done when all are.

        Raises:
            AirflowFailException: the range cannot work, or is not this run's any more; or no retry can help the block.
            AirflowNotFoundException: there is no such connection.
            PravegaError: the cluster cannot be reached.
        """
        context = get_current_context()
        with task_range(self, cuts, context, parts) as taken:
            names = {"scope": taken.stream.scope, "stream": taken.stream.stream}
            get_hook_lineage_collector().add_input_asset(context=self, scheme=self.conn_type, asset_kwargs=names)
            yield taken
            tell(context, took(taken.stream, taken.range, cuts))

    def get_conn(self) -> PravegaClient:
        """Airflow's name for `get_client`."""
        return self.get_client()

    def names_registry(self) -> bool:
        """True if the connection names a Schema Registry."""
        return SCHEMA_REGISTRY in connection_extras(self.get_connection(self.pravega_conn_id))

    def get_registry_config(self) -> RegistryConfig:
        """The configuration of a client of the Schema Registry that the connection names.

        Raises:
            AirflowNotFoundException: there is no such connection.
            ConfigurationError: the connection names no registry, or cannot work.
        """
        return registry_from_connection(self.get_connection(self.pravega_conn_id))

    def spark_master(self) -> str | None:
        """The Spark master that the connection names, if any."""
        master = connection_extras(self.get_connection(self.pravega_conn_id)).get(SPARK_MASTER)
        return None if master is None else str(master)

    def test_connection(self) -> tuple[bool, str]:
        """Ask the cluster with these credentials; returns True if all parts answer, and a text for the user.

        The parts are the controller, a segment store that has a stream which the account sees, and the Schema Registry
        if the connection names one. The text names a part that fails.
        """
        try:
            connection = self.get_connection(self.pravega_conn_id)
            config = _impatient(config_from_connection(connection))
            has_registry = SCHEMA_REGISTRY in connection_extras(connection)
            registry = _impatient(registry_from_connection(connection)) if has_registry else None
        except PravegaError as error:
            return False, f"{type(error).__name__}: {error}"
        return LoopThread.shared().run(check_connection(config, registry))


def _impatient(config: C) -> C:
    """The configuration with the time limits of a user who waits."""
    limits = {
        "connect_timeout": min(config.connect_timeout, _PATIENCE),
        "request_timeout": min(config.request_timeout, _PATIENCE),
        "retry_timeout": 0.0,
    }
    return config.model_copy(update=limits)


@contextmanager
def registry_of(hook: PravegaHook) -> "Iterator[SchemaRegistry | None]":
    """A client of the registry that the connection names; None: it names none."""
    if not hook.names_registry():
        yield None
        return
    from aiopravega.blocking.registry import SchemaRegistry

    with SchemaRegistry(hook.get_registry_config()) as registry:
        yield registry
