"""From Kafka: copies of topics into streams, their comparison, and the cut at which a consumer group continues.

It needs the extra `kafka`. The page docs/how-to/from-kafka.md shows the way.
"""

from pravega_jobs.kafka.cluster import KafkaCluster, KafkaConfig
from pravega_jobs.kafka.comparing import ComparedStep, Comparison, LeftOut, compare_copy
from pravega_jobs.kafka.copying import CopyProgress, copy_topic
from pravega_jobs.kafka.cut_over import cut_over
from pravega_jobs.kafka.events import RECORD_SCHEMA, CopiedPart, CopyOptions, Routing, Schemas, Unkept
from pravega_jobs.kafka.going_back import WayBack, go_back
from pravega_jobs.kafka.ledger import COPY_TABLE, CopyRecord, CopyState, CopyStep, GroupCut, copy_of

__all__ = [
    "COPY_TABLE",
    "RECORD_SCHEMA",
    "ComparedStep",
    "Comparison",
    "CopiedPart",
    "CopyOptions",
    "CopyProgress",
    "CopyRecord",
    "CopyState",
    "CopyStep",
    "GroupCut",
    "KafkaCluster",
    "KafkaConfig",
    "LeftOut",
    "Routing",
    "Schemas",
    "Unkept",
    "WayBack",
    "compare_copy",
    "copy_of",
    "copy_topic",
    "cut_over",
    "go_back",
]
