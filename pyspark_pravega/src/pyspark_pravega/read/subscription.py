"""A streaming query as a subscriber of its streams, so that consumption-based retention waits for it."""

from aiopravega.blocking import PravegaClient
from aiopravega.cuts import StreamCut
from aiopravega.names import StreamName
from pyspark_pravega.read.offsets import Cuts


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
                client.subscribe(stream.scope, stream.stream, self._name, cut, between_events=True)
            elif self._told[stream] != cut:
                client.report(stream.scope, stream.stream, self._name, cut, between_events=True)
            self._told[stream] = cut
