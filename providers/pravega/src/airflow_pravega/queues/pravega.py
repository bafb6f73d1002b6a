"""Streams as queues of `MessageQueueTrigger` of the distribution `apache-airflow-providers-common-messaging`.

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

    `MessageQueueTrigger(scheme="pravega", stream="examples/orders")` takes the trigger's arguments.
    `MessageQueueTrigger(queue="pravega://examples/orders")` takes all but `stream`; that distribution discourages it.
    """

    scheme = SCHEME

    def scheme_matches(self, scheme: str) -> bool:
        """Return True if a scheme is `pravega`."""
        return scheme == self.scheme

    def queue_matches(self, queue: str) -> bool:
        """Return True if the URI of a queue has the scheme `pravega`."""
        return urlsplit(queue).scheme == self.scheme

    def trigger_class(self) -> type[BaseEventTrigger]:
        """The class of the trigger."""
        return PravegaStreamCutEventTrigger

    def trigger_kwargs(self, queue: str, **kwargs: Any) -> dict[str, Any]:
        """The trigger's argument `stream`, by the URI of a queue, which is also the URI of an asset.

        Raises:
            ConfigurationError: the URI is not one of a stream.
        """
        uri = sanitize_uri(urlsplit(queue))
        return {"stream": f"{uri.netloc}{uri.path}"}
