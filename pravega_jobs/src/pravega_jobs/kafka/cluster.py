"""A Kafka cluster as copies need it: its topics, the offsets of partitions and of consumer groups, bounded in time."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from confluent_kafka import (
    OFFSET_INVALID,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from aiopravega.errors import (
    AuthenticationError,
    ConfigurationError,
    GroupAtWorkError,
    KafkaUnavailableError,
    PermissionDeniedError,
    PravegaError,
    TlsError,
    TopicCopyError,
)
from pravega_jobs.services.http_json import HttpServer

T = TypeVar("T")
logger = logging.getLogger(__name__)
# The offsets of a topic: one for each partition, in the order of their numbers.
Offsets = tuple[int, ...]
# Settings on which the exactness of a copy depends.
DECIDED: Final = (
    "auto.offset.reset",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "group.id",
    "group.instance.id",
    "isolation.level",
)
_REGISTRY: Final = "schema.registry."
_REGISTRY_SETTINGS: Final = ("url", "basic.auth.user.info", "bearer.auth.token", "ssl.ca.location")
_SHOWN: Final = ("bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.mechanisms")
# Names of Kafka's errors; an underscore is before the names that librdkafka adds.
_WRONG_CREDENTIALS: Final = ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED")
_FORBIDDEN: Final = ("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
_UNTRUSTED: Final = "_SSL"
_UNKNOWN: Final = "UNKNOWN_TOPIC_OR_PART"
_SILENT: Final = ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN")
# Errors of brokers that start, or hand partitions and groups over; librdkafka calls few of them retriable.
_MOVED: Final = ("LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "REPLICA_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE")
_GROUP_MOVED: Final = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
_BUSY: Final = ("REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE", "NETWORK_EXCEPTION", "UNSTABLE_OFFSET_COMMIT")
_PASSING: Final = (*_MOVED, *_GROUP_MOVED, *_BUSY, "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "KAFKA_STORAGE_ERROR")


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """The settings of librdkafka by which a Kafka cluster is reached.

    Args:
        settings: such as `bootstrap.servers`, `security.protocol`, `sasl.mechanism`, `sasl.username`, `sasl.password`,
            `ssl.ca.location`; names with `schema.registry.` are of Confluent's registry, see `confluent`. What shows
            this object leaves secrets out.
        timeout: limit for each request, and for the time in which nothing of what is read arrives, in seconds.

    Raises:
        ConfigurationError: no servers are named, or a setting is one that a copy decides.
    """

    settings: Mapping[str, str] = field(repr=False)
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not self.settings.get("bootstrap.servers"):
            raise ConfigurationError("the settings of Kafka name no servers: set bootstrap.servers=HOST:PORT")
        for name in self.settings:
            if name in DECIDED:
                raise ConfigurationError(f"the copy decides about {name}: take it out of the settings of Kafka")
        if self.timeout <= 0:
            raise ConfigurationError(f"the timeout for Kafka is {self.timeout}, but must be greater than 0")
        _ = self.confluent

    @property
    def confluent(self) -> HttpServer | None:
        """Confluent's registry; None: its address is not set.

        Its settings are `schema.registry.url`, and if needed `schema.registry.basic.auth.user.info` as `NAME:PASSWORD`,
        `schema.registry.bearer.auth.token`, `schema.registry.ssl.ca.location`.

        Raises:
            ConfigurationError: a setting is not known, or does not fit the others.
        """
        given = {name: value for name, value in self.settings.items() if name.startswith(_REGISTRY)}
        if not given:
            return None
        url, pair, token, authority = (given.pop(f"{_REGISTRY}{name}", None) for name in _REGISTRY_SETTINGS)
        if given or url is None:
            known = ", ".join(f"{_REGISTRY}{name}" for name in _REGISTRY_SETTINGS)
            raise ConfigurationError(
                f"the setting {min(given)} is not known: {known} are" if given else f"{_REGISTRY}url is not set"
            )
        username, is_there, password = (pair or "").partition(":")
        if pair is not None and not is_there:
            raise ConfigurationError(f"{_REGISTRY}basic.auth.user.info is not NAME:PASSWORD")
        return HttpServer(url, self.timeout, username or None, password if pair else None, token, authority)

    @property
    def of_client(self) -> dict[str, str]:
        """The settings of librdkafka."""
        return {name: value for name, value in self.settings.items() if not name.startswith(_REGISTRY)}

    @classmethod
    def from_file(cls, path: Path, timeout: float = 30.0) -> Self:
        """Read a file of properties: lines `name=value`; blank lines and lines with `#` are left out.

        Raises:
            ConfigurationError: the file cannot be read, or a line is something else.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"the settings of Kafka in {path} cannot be read: {error}") from None
        settings: dict[str, str] = {}
        for number, line in enumerate(map(str.strip, lines), start=1):
            if not line or line.startswith("#"):
                continue
            name, is_there, value = line.partition("=")
            if not is_there or not name.strip():
                raise ConfigurationError(f"line {number} of {path} is not name=value")
            settings[name.strip()] = value.strip()
        return cls(settings, timeout)

    @property
    def name(self) -> str:
        """Its servers, for messages."""
        return f"Kafka at {self.settings['bootstrap.servers']}"

    def __str__(self) -> str:
        shown = (f"{name}={self.settings[name]}" for name in _SHOWN if name in self.settings)
        return f"KafkaConfig({', '.join(shown)})"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it is now: `id` distinguishes it from a deleted one of its name, `cluster` is the cluster's id."""

    name: str
    id: str
    cluster: str
    partitions: int


class KafkaCluster:
    """Requests to a Kafka cluster; each ends within the time of its settings.

    Raises:
        ConfigurationError: librdkafka does not take a setting.
    """

    def __init__(self, config: KafkaConfig) -> None:
        self.config = config
        self._reason: KafkaError | None = None
        self._admin = self.opened(AdminClient, {})

    def opened(self, kind: Callable[[dict[str, Any]], T], settings: Mapping[str, Any]) -> T:
        """A client of librdkafka with these settings, which come before the settings of the cluster; its log is ours.

        Raises:
            ConfigurationError: a setting is refused.
        """
        try:
            return kind({**self.config.of_client, **settings, "error_cb": self._keep_reason, "logger": logger})
        except KafkaException as error:
            raise ConfigurationError(f"the settings of Kafka: {error_text(error.args[0])}") from None

    def topic(self, name: str) -> Topic:
        """The topic of this name.

        Raises:
            TopicCopyError: there is none.
            PravegaError: as all requests.
        """
        described = self._wait(self._admin.describe_topics(TopicCollection([name]))[name], f"topic {name!r}")
        cluster = self._wait(self._admin.describe_cluster(), "the cluster")
        return Topic(name, str(described.topic_id), cluster.cluster_id or "", len(described.partitions))

    def first_offsets(self, topic: Topic) -> Offsets:
        """The offset of the first record that is left in each partition."""
        return self._offsets(topic, OffsetSpec.earliest())

    def last_offsets(self, topic: Topic) -> Offsets:
        """The offset after the last record of each partition that no open transaction precedes."""
        return self._offsets(topic, OffsetSpec.latest())

    def committed(self, group: str, topic: Topic) -> tuple[int | None, ...]:
        """The offset that a consumer group has committed in each partition; None: it has none.

        Raises:
            PravegaError: as all requests.
        """
        asked = [ConsumerGroupTopicPartitions(group, self._partitions(topic))]
        found = self._wait(self._admin.list_consumer_group_offsets(asked)[group], f"group {group!r}")
        offsets = {one.partition: one.offset for one in found.topic_partitions if one.offset >= 0}
        return tuple(offsets.get(partition) for partition in range(topic.partitions))

    def check_group_stands_still(self, group: str) -> None:
        """Check that no consumer of a group is at work.

        Raises:
            GroupAtWorkError: some are.
            PravegaError: as all requests.
        """
        found = self._wait(self._admin.describe_consumer_groups([group])[group], f"group {group!r}")
        if found.state not in (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD):
            hosts = ", ".join(sorted({member.host for member in found.members})) or "hosts that are not known"
            raise GroupAtWorkError(
                f"consumers of group {group!r} are at work ({found.state.name.lower()}, {len(found.members)} members "
                f"on {hosts}): stop them, so that its offsets stay as they are, and say this again"
            )

    def set_committed(self, group: str, topic: Topic, offsets: Offsets) -> None:
        """Have a group without consumers continue at these offsets.

        Raises:
            PravegaError: as all requests.
        """
        wanted = [TopicPartition(topic.name, number, offset) for number, offset in enumerate(offsets)]
        done = self._admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)])[group]
        for one in self._wait(done, f"group {group!r}").topic_partitions:
            if one.error is not None:
                raise self.raised(one.error, f"group {group!r}, partition {one.partition}")

    def raised(self, error: KafkaError, what: str) -> PravegaError:
        """The error of this package for one of Kafka about `what`."""
        # A connection that fails says only that it failed; the reason was reported before.
        found = self._reason if self._reason is not None and error.name() in _SILENT else error
        message = f"{self.config.name}: {what}: {error_text(found)}"
        if found.name() in _WRONG_CREDENTIALS:
            return AuthenticationError(message)
        if found.name() == _UNTRUSTED:
            return TlsError(message)
        if found.name() in _FORBIDDEN:
            return PermissionDeniedError(message)
        if found.name() == _UNKNOWN:
            return TopicCopyError(f"{message}. Is the name right, and may the account describe the topic?")
        if found.name() in _PASSING or found.name().startswith("_"):
            return KafkaUnavailableError(message)
        return TopicCopyError(message)

    def _keep_reason(self, error: KafkaError) -> None:
        if error.name() in (*_WRONG_CREDENTIALS, _UNTRUSTED):
            self._reason = error
        logger.warning("%s: %s", self.config.name, error_text(error))

    def _offsets(self, topic: Topic, which: OffsetSpec) -> Offsets:
        asked = dict.fromkeys(self._partitions(topic), which)
        # Records of transactions that are open or were aborted are never copied.
        found = self._admin.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self.config.timeout
        )
        offsets = {one.partition: self._wait(future, f"topic {topic.name!r}").offset for one, future in found.items()}
        if OFFSET_INVALID in offsets.values():
            raise KafkaUnavailableError(f"{self.config.name} does not say the offsets of topic {topic.name!r}")
        return tuple(offsets[partition] for partition in range(topic.partitions))

    def _partitions(self, topic: Topic) -> list[TopicPartition]:
        return [TopicPartition(topic.name, partition) for partition in range(topic.partitions)]

    def _wait(self, future: "Future[Any]", what: str) -> Any:
        try:
            found = future.result(self.config.timeout)
        except TimeoutError:
            raise KafkaUnavailableError(
                f"{self.config.name}: {what}: no answer within {self.config.timeout:g} s"
            ) from None
        except KafkaException as error:
            raise self.raised(error.args[0], what) from None
        self._reason = None  # it is that of no later error
        return found


def error_text(error: KafkaError) -> str:
    """The name and the text of an error of Kafka."""
    return f"{error.name()}: {error.str()}"
