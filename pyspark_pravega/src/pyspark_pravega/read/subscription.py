"""A streaming query as a subscriber of its streams, or as a reader group: retention waits for the query's position."""

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import StreamCut
from aiopravega.names import StreamName
from pyspark_pravega.read.offsets import Cuts
from pyspark_pravega.read.stream_options import StreamingOptions


class QuerySubscriber:
    """Reports the query's position to each stream, whenever it changes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._reported: dict[StreamName, StreamCut] = {}

    def move(self, client: PravegaClient, cuts: Cuts) -> None:
        """Report that no events before these cuts are needed any more; the first time, subscribe.

        Raises:
            InvalidStreamCutError: this subscriber has reported later cuts already: another query with its name has, or
                this one has, before it got an older checkpoint.
            PravegaError: the streams cannot be reached.
        """
        for stream, cut in cuts.items():
            if stream not in self._reported:
                client.subscribe(stream, self._name, cut, between_events=True)
            elif self._reported[stream] != cut:
                client.report(stream, self._name, cut, between_events=True)
            self._reported[stream] = cut


class QueryReaderGroup:
    """Publishes the query's position as the position of one reader group, whenever it changes."""

    def __init__(self, scope: str, name: str) -> None:
        self._scope = scope
        self._name = name
        self._published: Cuts | None = None

    def move(self, client: PravegaClient, cuts: Cuts) -> None:
        """Publish that no events before these cuts are needed any more; the first time, make the group.

        Raises:
            InvalidStreamCutError: the group has a later position already: of another query, or of this one before it
                got an older checkpoint.
            ReaderGroupError: a group of this name has another configuration, or has readers.
            PravegaError: the streams cannot be reached.
        """
        if cuts != self._published:
            client.publish_reader_group(self._scope, self._name, cuts.values(), between_events=True)
            self._published = dict(cuts)


def subscription(options: StreamingOptions, scope: str) -> QuerySubscriber | QueryReaderGroup | None:
    """The subscriber or the reader group of a query, by its options; a group without a scope is in `scope`."""
    if options.subscriber is not None:
        return QuerySubscriber(options.subscriber)
    if options.reader_group is None:
        return None
    given, _, name = options.reader_group.rpartition("/")
    return QueryReaderGroup(given or scope, name)
