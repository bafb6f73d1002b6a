"""Operators that make and delete scopes and streams. They may run again: what is there, or gone, already is success."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperator, Context

from aiopravega import RetentionPolicy, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.task_failures import failing_for_good


class _PravegaOperator(BaseOperator):
    """An operator that does its work in one block with a client."""

    def __init__(self, *, pravega_conn_id: str = PravegaHook.default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> Any:
        """Connect and work.

        Raises:
            AirflowFailException: what is asked for cannot work.
            PravegaError: the cluster cannot be reached.
        """
        del context
        with failing_for_good(), PravegaHook(self.pravega_conn_id).get_client() as client:
            return self.work(client)

    @abstractmethod
    def work(self, client: PravegaClient) -> Any:
        """What the operator does; its result goes to XCom."""


class PravegaCreateScopeOperator(_PravegaOperator):
    """Makes a scope; returns whether it was not there.

    Args:
        scope: its name. (templated)
        pravega_conn_id: id of the connection.
    """

    template_fields: Sequence[str] = ("scope", "pravega_conn_id")

    def __init__(self, *, scope: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scope = scope

    def work(self, client: PravegaClient) -> bool:
        """Make the scope."""
        made = client.create_scope(self.scope)
        self.log.info("Scope %s %s", self.scope, "is made" if made else "was there")
        return made


class PravegaDeleteScopeOperator(_PravegaOperator):
    """Deletes an empty scope; returns whether it was there.

    Args:
        scope: its name. (templated)
        pravega_conn_id: id of the connection.
    """

    template_fields: Sequence[str] = ("scope", "pravega_conn_id")

    def __init__(self, *, scope: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scope = scope

    def work(self, client: PravegaClient) -> bool:
        """Delete the scope."""
        deleted = client.delete_scope(self.scope)
        self.log.info("Scope %s %s", self.scope, "is deleted" if deleted else "was not there")
        return deleted


class PravegaCreateStreamOperator(_PravegaOperator):
    """Makes a stream, and its scope if that is missing; returns whether the stream was not there.

    A stream that is there keeps its configuration.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        scaling: how many segments it has; by default one.
        retention: how long its data stays; by default forever.
        tags: tags to find it by. (templated)
        timestamp_aggregation_timeout: how long the stream's watermarks wait for a writer that notes no new event time;
            by default not at all. Give it if writers note times.
        create_scope: whether a missing scope is made.
        pravega_conn_id: id of the connection.
    """

    template_fields: Sequence[str] = ("stream", "tags", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream: str,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Iterable[str] = (),
        timestamp_aggregation_timeout: timedelta = timedelta(),
        create_scope: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.stream = stream
        self.scaling = scaling
        self.retention = retention
        self.tags = list(tags)
        self.timestamp_aggregation_timeout = timestamp_aggregation_timeout
        self.create_scope = create_scope

    def work(self, client: PravegaClient) -> bool:
        """Make the stream."""
        name = StreamName.parse(self.stream, client.config.scope)
        if self.create_scope:
            client.create_scope(name.scope)
        made = client.create_stream(
            name.scope,
            name.stream,
            self.scaling,
            self.retention,
            self.tags,
            timestamp_aggregation_timeout=self.timestamp_aggregation_timeout,
        )
        self.log.info("Stream %s %s", name, "is made" if made else "was there, and keeps its configuration")
        return made


class PravegaDeleteStreamOperator(_PravegaOperator):
    """Seals and deletes a stream with all its events; returns whether it was there.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        pravega_conn_id: id of the connection.
    """

    template_fields: Sequence[str] = ("stream", "pravega_conn_id")

    def __init__(self, *, stream: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stream = stream

    def work(self, client: PravegaClient) -> bool:
        """Delete the stream."""
        name = StreamName.parse(self.stream, client.config.scope)
        deleted = client.delete_stream(name.scope, name.stream)
        self.log.info("Stream %s %s", name, "is deleted" if deleted else "was not there")
        return deleted
