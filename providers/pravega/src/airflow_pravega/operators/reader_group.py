"""Operators that make, move and delete reader groups, for jobs of Java and Flink."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseOperatorLink, Context, XComArg

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import GroupRetention
from aiopravega.control.reader_groups import CHECKPOINT_INTERVAL
from aiopravega.errors import ConfigurationError, ReaderGroupNotFoundError
from aiopravega.groups.parts import Part, parse_part
from airflow_pravega.operators.stream_operator import IfNotExists, PravegaStreamOperator
from airflow_pravega.tasks.arguments import check_choice, choice_of

Given = Sequence[str | Mapping[str, str] | XComArg] | XComArg


class _ReaderGroupOperator(PravegaStreamOperator):
    """An operator of a reader group, which takes the stream's position in `PravegaStreamOperator`."""

    operator_extra_links: Collection[BaseOperatorLink] = ()

    def __init__(self, *, group: str, **kwargs: Any) -> None:
        super().__init__(stream=group, **kwargs)
        self.group = group

    def execute(self, context: Context) -> Any:
        self.stream = self.group  # as the template gave it
        return super().execute(context)

    def link_to_stream(self, context: Context, stream: StreamName) -> None:
        """Store no link: a group has no page."""

    def _parts(self, client: PravegaClient, given: Any) -> list[Part]:
        if isinstance(given, str | Mapping):
            given = [given]
        return [parse_part(each, client.config.scope) for each in given]


class PravegaCreateReaderGroupOperator(_ReaderGroupOperator):
    """Makes a reader group for Java's readers; returns True if it was missing.

    The task fails if the group is there with another configuration.

    Args:
        group: `scope/group`, or a group of the connection's default scope. (templated)
        parts: the group's input: streams from their heads, texts of cuts to begin at, or ranges, such as a sensor's
            output. (templated)
        checkpoint_interval: time between automatic checkpoints; None: no checkpoints, so that the group waits at each
            scaling.
        retention: how consumption-based retention waits for the group: `"none"`, `"manual"`, `"automatic"`. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("group", "parts", "retention", "pravega_conn_id")

    def __init__(
        self,
        *,
        parts: Given,
        checkpoint_interval: timedelta | None = CHECKPOINT_INTERVAL,
        retention: str = "none",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.parts = parts
        self.checkpoint_interval = checkpoint_interval
        self.retention = retention

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> bool:
        """Make the group."""
        del context
        try:
            retention = GroupRetention[self.retention.upper()]
        except KeyError:
            choices = ", ".join(repr(each.name.lower()) for each in GroupRetention)
            raise ConfigurationError(f"retention is {self.retention!r}, but must be one of {choices}") from None
        made = client.create_reader_group(
            stream.scope,
            stream.stream,
            self._parts(client, self.parts),
            checkpoint_interval=self.checkpoint_interval,
            retention=retention,
        )
        self.log.info("Reader group %s %s", stream, "is made" if made else "exists already, set up so")
        return made


class PravegaResetReaderGroupOperator(_ReaderGroupOperator):
    """Has a reader group start again; returns its new positions, the texts of cuts by stream.

    The task fails if readers are online, and names them.

    Args:
        group: `scope/group`, or a group of the connection's default scope. (templated)
        parts: the new position in each of its streams, as in `PravegaCreateReaderGroupOperator`; None: the last
            checkpoint. (templated)
        force: reset although readers are online: they fail, and have to join again.
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("group", "parts", "pravega_conn_id")

    def __init__(self, *, parts: Given | None = None, force: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.parts = parts
        self.force = force

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> dict[str, str]:
        """Reset the group."""
        del context
        parts = None if self.parts is None else self._parts(client, self.parts)
        starts = client.reset_reader_group(stream.scope, stream.stream, parts, force=self.force)
        self.log.info("Reader group %s starts again at %s", stream, ", ".join(map(str, starts.values())))
        return {str(each): cut.to_text() for each, cut in starts.items()}


class PravegaDeleteReaderGroupOperator(_ReaderGroupOperator):
    """Deletes a reader group; returns whether it was there. It fails if readers are online, and names them.

    Args:
        group: `scope/group`, or a group of the connection's default scope. (templated)
        force: delete although readers are online.
        if_not_exists: the rule for a missing group: `"fail"`, or `"ignore"` it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("group", "if_not_exists", "pravega_conn_id")

    def __init__(self, *, force: bool = False, if_not_exists: str = IfNotExists.FAIL.value, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_choice(IfNotExists, "if_not_exists", if_not_exists)
        self.force = force
        self.if_not_exists = if_not_exists

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> bool:
        """Delete the group."""
        del context
        ignores = choice_of(IfNotExists, "if_not_exists", self.if_not_exists) is IfNotExists.IGNORE
        try:
            client.delete_reader_group(stream.scope, stream.stream, force=self.force)
        except ReaderGroupNotFoundError:
            if not ignores:
                raise
            return False
        self.log.info("Reader group %s is deleted", stream)
        return True
