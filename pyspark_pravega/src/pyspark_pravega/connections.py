"""One client for each cluster in a Python worker, kept from task to task.

Spark uses its worker processes again, so that a task finds connections, tokens and addresses of segments ready.
"""

import os
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from aiopravega.blocking import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.read.bulk import BulkReader

# One worker uses few clusters, or credentials, at the same time.
_MOST_CLUSTERS: Final = 4


@dataclass(frozen=True, slots=True)
class Cluster:
    """The connections to a cluster: `reader` for the bytes of events, `client` for all other requests."""

    client: PravegaClient
    reader: BulkReader

    def close(self) -> None:
        """Close all connections."""
        self.reader.close()
        self.client.close()


_clusters: OrderedDict[tuple[int, PravegaConfig], Cluster] = OrderedDict()


def cluster(config: PravegaConfig) -> Cluster:
    """The cluster of this configuration, and of this process: a fork cannot continue with connections of its parent.

    Raises:
        PravegaConnectionError: no controller answers.
        SecurityError: the credentials or the certificate are refused.
    """
    key = os.getpid(), config
    if key not in _clusters:
        client = PravegaClient(config)
        client.__enter__()
        _clusters[key] = Cluster(client, BulkReader(client.locate, config))
    _clusters.move_to_end(key)
    while len(_clusters) > _MOST_CLUSTERS:
        _, oldest = _clusters.popitem(last=False)
        oldest.close()
    return _clusters[key]
