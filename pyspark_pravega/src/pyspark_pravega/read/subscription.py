"""A streaming query as a subscriber of its streams, or as a reader group: retention waits for it, others see it."""

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import StreamCut
from aiopravega.names import StreamName
from pyspark_pravega.read.offsets import Cuts
from pyspark_pravega.read.stream_options import StreamingOptions


class Subscription:
    """Reports to each stream how far the query is, whenever that changes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._told: dict[StreamName, StreamCut] = {}

    def move(self, client: PravegaClient, cuts: Cuts) -> None:
        """Nothing before these cuts is needed any more. The first time, the query subscribes.

        Raises:
            InvalidStreamCutError: this subscriber has reported later cuts already: in another query, or in this one
                before it was given an older checkpoint.
            PravegaError: the streams cannot be reached.
        """
        for stream, cut in cuts.items():
            if stream not in self._told:
                client.subscribe(stream, self._name, cut, between_events=True)
            elif self._told[stream] != cut:
                client.report(stream, self._name, cut, between_events=True)
            self._told[stream] = cut


class GroupSubscription:
    """Publishes how far the query is as the position of one reader group, whenever that changes."""

    def __init__(self, scope: str, name: str) -> None:
        self._scope = scope
        self._name = name
        self._told: Cuts | None = None

    def move(self, client: PravegaClient, cuts: Cuts) -> None:
        """Nothing before these cuts is needed any more. The first time, the group is made.

        Raises:
            InvalidStreamCutError: the group is further already: by another query, or by this one before it was given an
                older checkpoint.
            ReaderGroupError: a group of this name is set up another way, or has readers.
            PravegaError: the streams cannot be reached.
        """
        if cuts != self._told:
            client.publish_reader_group(self._scope, self._name, cuts.values(), between_events=True)
            self._told = dict(cuts)


def subscription(options: StreamingOptions, scope: str) -> Subscription | GroupSubscription | None:
    """What the options ask for; a group without a scope is in `scope`. None: nothing."""
    if options.subscriber is not None:
        return Subscription(options.subscriber)
    if options.reader_group is None:
        return None
    given, _, name = options.reader_group.rpartition("/")
    return GroupSubscription(given or scope, name)
