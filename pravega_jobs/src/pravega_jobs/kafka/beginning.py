"""The beginning of a copy: the first records are tried, and the topic and the options are kept from then on."""

from typing import TYPE_CHECKING, Final

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, StreamSealedError, TopicCopyError
from aiopravega.ledger import ledger_name
from pravega_jobs.kafka.cluster import KafkaCluster, Offsets, Topic
from pravega_jobs.kafka.events import CopyOptions, Rewrite, batch_of, rewrite_of
from pravega_jobs.kafka.ledger import CopyLedger, CopyRecord
from pravega_jobs.kafka.records import read_records

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

# Offsets of each partition that are tried before a copy begins.
_TRIED: Final = 1000


def begun_copy(
    client: PravegaClient,
    cluster: KafkaCluster,
    topic: Topic,
    stream: StreamName,
    options: CopyOptions | None = None,
    commit_ledger: str | None = None,
    registry: "SchemaRegistry | None" = None,
) -> CopyRecord:
    """The copy of a topic into a stream, which is begun if there is none.

    Raises:
        ConfigurationError: the options or the commit ledger are not those with which it has begun, or need a registry.
        TopicCopyError: the stream has the copy of another topic, or of a deleted one of this name.
        RecordRefusedError: one of the first records has something that its event cannot keep: nothing has begun.
        PravegaError: a server cannot be reached.
    """
    name = "/".join(ledger_name(commit_ledger, stream.scope))
    ledger = client.run(CopyLedger.of(client.asynchronous, stream))
    record = client.run(ledger.begun())
    if record is None:
        if client.is_sealed(stream):
            raise StreamSealedError(f"{stream} is sealed, so it takes no copy of topic {topic.name!r}")
        starts, wanted = cluster.first_offsets(topic), options or CopyOptions()
        rewrite = rewrite_of(wanted, cluster.config.confluent, registry, stream)
        _try_records(cluster, topic, starts, wanted, rewrite)
        record = client.run(ledger.begin(topic, wanted, name, starts))
    check_is_of(record, topic)
    for what, given, kept in (
        ("options", options, record.options),
        ("commit ledger", name if commit_ledger else None, record.commit_ledger),
    ):
        if given is not None and given != kept:
            raise ConfigurationError(
                f"the copy of topic {topic.name!r} to {stream} has begun with the {what} {kept}: all its steps have "
                f"the same. Leave them out; or, for {given}, copy into another stream"
            )
    return record


def _try_records(
    cluster: KafkaCluster, topic: Topic, starts: Offsets, options: CopyOptions, rewrite: Rewrite | None
) -> None:
    """Make events of the first records: while none is refused, nothing has begun, and options may be changed."""
    ends = tuple(min(start + _TRIED, end) for start, end in zip(starts, cluster.last_offsets(topic), strict=True))
    for page in read_records(cluster, topic, starts, ends):
        batch_of(page, options, rewrite)


def check_is_of(record: CopyRecord, topic: Topic) -> None:
    """Check that a copy is of a topic as it is now.

    Raises:
        TopicCopyError: it is not.
    """
    way_out = "Copy into another stream, or into this one after it was deleted and made again"
    if record.topic != topic.name or record.cluster != topic.cluster:
        raise TopicCopyError(
            f"{record.stream} has the copy of topic {record.topic!r} of the cluster {record.cluster}, and not of "
            f"{topic.name!r} of {topic.cluster}. {way_out}"
        )
    if record.topic_id != topic.id:
        raise TopicCopyError(
            f"topic {topic.name!r} was deleted and made again since its copy to {record.stream} began, so that its "
            f"offsets are those of other records. {way_out}"
        )
