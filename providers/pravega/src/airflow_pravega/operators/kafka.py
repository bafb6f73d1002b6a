"""Operators that copy a topic of Kafka into a stream, exactly once, and give its consumer groups their cuts.

Kafka is reached by a connection of the type `kafka`, as Airflow's provider for Kafka has it: its extras are settings of
librdkafka. That provider need not be installed.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.common.compat.sdk import BaseHook, mask_secret
from airflow.sdk import Context

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.fields import errors_named, extras_of
from airflow_pravega.hooks.pravega import PravegaHook, registry_of
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.arguments import whole_number
from pravega_jobs.frame_kinds import need

if TYPE_CHECKING:
    from pravega_jobs.kafka import KafkaCluster

_TYPE: Final = "kafka"
_KAFKA: Final = "kafka_default"
# Parts of the names of settings that are secrets, in small letters.
_SECRETS: Final = ("password", "passphrase", "secret", "token", "user.info", "key.pem", "oauthbearer.config")


class _KafkaOperator(PravegaStreamOperator):
    """An operator that works on a topic of Kafka and on the stream that has its copy.

    Args:
        topic: the topic.
        timeout: the limit for Kafka's answers, in seconds.
        kafka_conn_id: id of a connection of the type `kafka`.
    """

    def __init__(self, *, topic: str, timeout: float = 30.0, kafka_conn_id: str = _KAFKA, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.topic = topic
        self.timeout = timeout
        self.kafka_conn_id = kafka_conn_id

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        need("kafka", "confluent_kafka")

    def cluster(self) -> "KafkaCluster":
        """The Kafka cluster of the connection.

        Raises:
            AirflowNotFoundException: there is no such connection.
            ConfigurationError: the connection cannot work.
        """
        from pravega_jobs.kafka import KafkaCluster, KafkaConfig

        return KafkaCluster(KafkaConfig(kafka_settings(self.kafka_conn_id), self.timeout))

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> dict[str, Any]:
        """Work on the topic.

        Raises:
            ConfigurationError: an argument or the connection cannot work.
            PravegaError: as of `work_on_topic`.
        """
        del context
        cluster = self.cluster()
        with registry_of(PravegaHook(self.pravega_conn_id)) as registry:
            return self.work_on_topic(client, cluster, stream, registry)

    @abstractmethod
    def work_on_topic(
        self, client: PravegaClient, cluster: "KafkaCluster", stream: StreamName, registry: SchemaRegistry | None
    ) -> dict[str, Any]:
        """Do the operator's work; returns the XCom."""


class PravegaKafkaCopyOperator(_KafkaOperator):
    """Copies what a topic has and the stream has not, exactly once; a task that is killed or tried again adds nothing.

    The XCom has the steps of this run, their events and bytes, the offsets up to which the topic is copied, and the
    number of offsets that are left.

    Args:
        topic: the topic. (templated)
        stream: `scope/stream` that gets its copy, or a stream of the connection's default scope; it must exist.
            (templated)
        behind: consumer groups of Kafka that the copy does not overtake. (templated)
        options: how records become events: `events` (`value`, `record`), `routing` (`key`, `hex`, `partition`),
            `headers`, `tombstones` (`refuse`, `drop`), `schemas` (`raw`, `registry`). They stay the same for the whole
            copy. (templated)
        commit_ledger: `scope/table` of the commit ledger; by default the one of the scope of the stream. (templated)
        step_records: the most records of a step, which is one transaction. (templated)
        lost: the rule for records that Kafka has deleted before they were copied: `refuse`, or `drop` them. (templated)
        timeout: the limit for Kafka's answers, in seconds.
        kafka_conn_id: id of a connection of the type `kafka`; settings that the copy decides about, such as `group.id`,
            are left out. (templated)
        pravega_conn_id: id of the connection; its Schema Registry gets the schemas. (templated)
    """

    template_fields: Sequence[str] = (
        "topic",
        "stream",
        "behind",
        "options",
        "commit_ledger",
        "step_records",
        "lost",
        "kafka_conn_id",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        behind: Sequence[str] | str = (),
        options: Mapping[str, str] | None = None,
        commit_ledger: str | None = None,
        step_records: int | str = 1_000_000,
        lost: str = "refuse",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.behind = behind
        self.options = dict(options or {})
        self.commit_ledger = commit_ledger
        self.step_records = step_records
        self.lost = lost

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        whole_number("step_records", self.step_records)

    def work_on_topic(
        self, client: PravegaClient, cluster: "KafkaCluster", stream: StreamName, registry: SchemaRegistry | None
    ) -> dict[str, Any]:
        """Copy the topic.

        Raises:
            ConfigurationError: an argument cannot work.
            PravegaError: a record cannot be copied, or a cluster cannot be reached.
        """
        from pravega_jobs.kafka import CopyOptions, copy_topic

        done = copy_topic(
            client,
            cluster,
            self.topic,
            stream,
            options=CopyOptions.of(self.options) if self.options else None,
            ledger=self.commit_ledger,
            step_records=whole_number("step_records", self.step_records),
            behind=[self.behind] if isinstance(self.behind, str) else self.behind,
            lost=self.lost,
            registry=registry,
        )
        self.log.info("%s", done)
        return done.to_json()


class PravegaKafkaCutOverOperator(_KafkaOperator):
    """Decides the cut at which the consumers of a group of Kafka continue in the stream, and begins a consumer there.

    The consumers of the group must have ended: as long as some are at work, the task fails and can be tried again. The
    copy is continued up to the committed offsets, if it is not beyond them, so that the cut is exact. A task that is
    tried again or cleared gives the same cut, unless the group has gone on in Kafka: that fails it at once, and
    `pravega kafka cut-over --decide-again` is the way out.

    The XCom has the `group`, its `offsets` in Kafka, the `step` of the copy after which it continues, the `cut`, and
    `repeats`, the number of records that it gets again.

    Args:
        topic: the topic. (templated)
        stream: `scope/stream` that has its copy, or a stream of the connection's default scope. (templated)
        group: the consumer group of Kafka. (templated)
        consumer: a consumer of the cut ledger, such as of `PravegaStreamCutSensor`, whose chain begins at the cut; by
            default none is begun. (templated)
        cut_ledger: `scope/table` of its cut ledger; by default the one of the scope of the stream. (templated)
        reader_group: `scope/name` of a reader group of Java's readers that is made and begins at the cut; by default
            none. (templated)
        most_repeats: the most records that the group may get again, if no step of the copy ends at its offsets.
            (templated)
        timeout: the limit for Kafka's answers, in seconds.
        kafka_conn_id: id of a connection of the type `kafka`. (templated)
        pravega_conn_id: id of the connection; its Schema Registry gets the schemas. (templated)
    """

    template_fields: Sequence[str] = (
        "topic",
        "stream",
        "group",
        "consumer",
        "cut_ledger",
        "reader_group",
        "most_repeats",
        "kafka_conn_id",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        group: str,
        consumer: str | None = None,
        cut_ledger: str | None = None,
        reader_group: str | None = None,
        most_repeats: int | str = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.consumer = consumer
        self.cut_ledger = cut_ledger
        self.reader_group = reader_group
        self.most_repeats = most_repeats

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        whole_number("most_repeats", self.most_repeats)

    def work_on_topic(
        self, client: PravegaClient, cluster: "KafkaCluster", stream: StreamName, registry: SchemaRegistry | None
    ) -> dict[str, Any]:
        """Decide the cut of the group.

        Raises:
            ConfigurationError: an argument cannot work.
            PravegaError: consumers are at work, the cut is not exact, or a cluster cannot be reached.
        """
        from pravega_jobs.kafka import cut_over

        decided = cut_over(
            client,
            cluster,
            self.topic,
            stream,
            self.group,
            most_repeats=whole_number("most_repeats", self.most_repeats),
            consumer=self.consumer,
            cut_ledger=self.cut_ledger,
            reader_group=self.reader_group,
            registry=registry,
        )
        self.log.info("group %s continues in %s at %s", self.group, stream, decided.cut)
        return decided.model_dump(mode="json")


def kafka_settings(conn_id: str) -> dict[str, str]:
    """The settings of librdkafka of a connection; its secrets are masked in logs.

    Raises:
        AirflowNotFoundException: there is no such connection.
        ConfigurationError: it is of another type, or its extras are not an object of JSON.
    """
    from pravega_jobs.kafka.cluster import DECIDED

    connection = BaseHook.get_connection(conn_id)
    with errors_named(connection):
        if connection.conn_type != _TYPE:
            raise ConfigurationError(f"its type is {connection.conn_type!r}, but must be {_TYPE!r}")
        settings = {name: str(value) for name, value in extras_of(connection).items() if name not in DECIDED}
    for name, value in settings.items():
        if any(part in name.lower() for part in _SECRETS):
            mask_secret(value)
    return settings
