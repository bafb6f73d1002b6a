"""The operator that adds and removes tags of a stream."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from airflow.sdk import Context

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import reserved
from aiopravega.errors import ConfigurationError
from airflow_pravega.operators.stream_operator import PravegaStreamChangeOperator, reconfigure
from airflow_pravega.tasks.arguments import in_order


class PravegaTagStreamOperator(PravegaStreamChangeOperator):
    """Adds and removes tags of a stream; returns True if that has changed its tags.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        add: tags to add. (templated)
        remove: tags to remove. (templated)
        if_not_exists: the rule for a missing stream: `"fail"`, or `"ignore"` it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "add", "remove", "if_not_exists", "pravega_conn_id")

    def __init__(self, *, add: Iterable[str] = (), remove: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add = in_order(add)
        self.remove = in_order(remove)

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        both = sorted(set(self.add) & set(self.remove))
        if both or not (self.add or self.remove):
            raise ConfigurationError(
                f"tags of {stream} to add are {self.add}, to remove {self.remove}: give at least one, and each tag in "
                "one of the two lists"
            )
        if marks := reserved([*self.add, *self.remove]):
            raise ConfigurationError(
                f"the tag {marks[0]!r} of {stream} is the mark of the commit ledger that remembers its writes: without "
                "it, writes could be done twice. `pravega ledger adopt` has another ledger remember them"
            )

    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """Change the tags."""
        changed = reconfigure(
            client,
            stream,
            lambda before: replace(before, tags=tuple((set(before.tags) | set(self.add)) - set(self.remove))),
        )
        self.log.info("Tags of stream %s %s", stream, "are changed" if changed else "were as they are to be")
        return changed
