"""Streams as queues of `MessageQueueTrigger`, which is of the distribution `apache-airflow-providers-common-messaging`.

That distribution calls the methods of this class by their names. The class is not derived from its
`BaseMessageQueueProvider`, so that this module can be imported without it.
"""

from typing import Any, Final
from urllib.parse import urlsplit

from airflow.triggers.base import BaseEventTrigger

from airflow_pravega.assets import sanitize_uri
from airflow_pravega.triggers.stream_cut import PravegaStreamCutEventTrigger

SCHEME: Final = "pravega"


class PravegaMessageQueueProvider:
    """Gives `MessageQueueTrigger` the trigger of a stream, `PravegaStreamCutEventTrigger`.

    `MessageQueueTrigger(scheme="pravega", stream="examples/orders")` takes the trigger's arguments;
    `MessageQueueTrigger(queue="pravega://examples/orders")`, which that distribution discourages, takes the others.
    """

    scheme = SCHEME

    def scheme_matches(self, scheme: str) -> bool:
        """Whether a scheme is that of streams."""
        return scheme == self.scheme

    def queue_matches(self, queue: str) -> bool:
        """Whether the URI of a queue is one of a stream."""
        return urlsplit(queue).scheme == self.scheme

    def trigger_class(self) -> type[BaseEventTrigger]:
        """The class of the trigger."""
        return PravegaStreamCutEventTrigger

    def trigger_kwargs(self, queue: str, **kwargs: Any) -> dict[str, Any]:
        """The trigger's argument that the URI of a queue gives, which is that of an asset; the others stay as they are.

        Raises:
            ConfigurationError: it is not the URI of a stream.
        """
        uri = sanitize_uri(urlsplit(queue))
        return {"stream": f"{uri.netloc}{uri.path}"}
