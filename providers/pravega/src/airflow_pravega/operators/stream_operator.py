"""The base of the operators of streams: it checks the arguments, then connects once, then works."""

from abc import abstractmethod
from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar

from airflow.sdk import Context

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import StreamConfiguration, amend_stream
from aiopravega.errors import StreamNotFoundError
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import StreamChange, changed_stream
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.links import LinkedToStream
from airflow_pravega.tasks.arguments import check_choice, check_stream, choice_of
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts


class IfNotExists(StrEnum):
    """The rule for a stream that is missing."""

    FAIL = "fail"
    IGNORE = "ignore"


class PravegaStreamOperator(LinkedToStream, TemplatedTexts):
    """An operator that works on one stream, in one block with a client.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope.
        pravega_conn_id: id of the connection.
    """

    def __init__(self, *, stream: str, pravega_conn_id: str = PravegaHook.default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_stream(stream)
        self.stream = stream
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> Any:
        """Check the arguments, connect and work.

        Raises:
            AirflowFailException: an argument cannot work.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            hook = PravegaHook(self.pravega_conn_id)
            stream = StreamName.parse(self.stream, hook.get_config().scope)
            self.check_arguments(stream, context)
            self.link_to_stream(context, stream)
            with hook.get_client() as client:
                return self.work(client, stream, context)

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        """Check the rendered arguments, before a connection is opened.

        Raises:
            ConfigurationError: an argument cannot work.
        """

    @abstractmethod
    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> Any:
        """Do the operator's work; the result goes to XCom."""


class PravegaStreamChangeOperator(ReportsLineage, PravegaStreamOperator):
    """An operator that brings a stream into a state; returns True if it has changed the stream.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope.
        if_not_exists: the rule for a missing stream: `"fail"`, or `"ignore"` it, which returns False.
        pravega_conn_id: id of the connection.
    """

    kind_of_change: ClassVar[StreamChange | None] = StreamChange.ALTER

    def __init__(self, *, if_not_exists: str = IfNotExists.FAIL.value, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_choice(IfNotExists, "if_not_exists", if_not_exists)
        self.if_not_exists = if_not_exists

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        choice_of(IfNotExists, "if_not_exists", self.if_not_exists)

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> bool:
        """Change the stream, if it is there."""
        del context
        try:
            changed = self.change(client, stream)
        except StreamNotFoundError:
            if choice_of(IfNotExists, "if_not_exists", self.if_not_exists) is IfNotExists.FAIL:
                raise
        else:
            if changed and self.kind_of_change is not None:
                self.lineage = changed_stream(client.config, stream, self.kind_of_change)
            return changed
        self.log.info("Stream %s is not there: nothing to do", stream)
        return False

    @abstractmethod
    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """Change the stream; returns True if there was something to change.

        Raises:
            StreamNotFoundError: there is no such stream.
        """


def reconfigure(
    client: PravegaClient, stream: StreamName, change: Callable[[StreamConfiguration], StreamConfiguration]
) -> bool:
    """Change the configuration of a stream; returns True if that has changed it. The mark of its ledger stays.

    Raises:
        StreamNotFoundError: there is no such stream.
        StreamSealedError: the stream is sealed.
        ConfigurationError: Pravega refuses the configuration.
    """
    before = client.run(client.controller.stream_configuration(stream))
    return client.run(amend_stream(client.controller, stream, before, change(before)))
