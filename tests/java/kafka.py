"""Kafka's own broker as a process, in KRaft mode, which tests may kill; `python -m tests.java.kafka` fetches it."""

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from tests.faults.process import ProcessTree, wait_until
from tests.system.servers import free_ports, start_server

from pravega_emulator.fetch import ensure_jars
from pravega_emulator.jars import JarList
from pravega_emulator.java import find_java

_LOCK = Path(__file__).with_name("kafka.lock")
_CLUSTER = "cG9zc2libHktYS1jbHVzdA"  # an id in the form of KRaft: 16 bytes in base64


def kafka_jars() -> Path:
    """The folder of the broker's jars."""
    return ensure_jars(JarList.from_text(_LOCK.read_text(encoding="utf-8")))


class KafkaServer:
    """A broker, which is its own controller; use it as a context manager.

    Args:
        folder: for its log and its records, which stay there when it is killed.
    """

    def __init__(self, folder: Path) -> None:
        broker, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{broker}"
        self._folder = folder
        self._settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(folder / "records"),
            "num.partitions": "1",
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.retention.ms": "-1",
            "log.retention.check.interval.ms": "500",
            "log.initial.task.delay.ms": "500",
            "log.segment.delete.delay.ms": "0",
        }
        self._server: ProcessTree | None = None

    def __enter__(self) -> Self:
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in self._settings.items()))
        format_it = self._java("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._properties))
        subprocess.run(format_it, check=True, capture_output=True)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, with what an earlier process has left, and wait until it answers."""
        command = self._java("kafka.Kafka", str(self._properties))
        self._server = start_server(command, self._folder / "kafka.log", {})
        wait_until(self._answers, self._server.said, every=0.1)

    def kill(self) -> None:
        """Kill it, as a machine that fails."""
        if self._server is not None:
            self._server.process.send_signal(signal.SIGKILL)
            self._server.process.wait()
            self._server = None

    def make_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Make a topic."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        made = admin.create_topics([NewTopic(name, partitions, 1, config=dict(settings or {}))])
        made[name].result()
        # The broker knows it a little later than its controller.
        wait_until(lambda: name in admin.list_topics(timeout=5.0).topics, lambda: f"there is no topic {name}")

    @property
    def _properties(self) -> Path:
        return self._folder / "server.properties"

    def _java(self, *arguments: str) -> list[str]:
        options = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_jars()}/*"]
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [str(find_java()), *options, quiet, *arguments]

    def _answers(self) -> bool:
        assert self._server is not None
        assert self._server.process.poll() is None, self._server.said()
        try:
            AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}).list_topics(timeout=1.0)
            return True
        except KafkaException:
            return False


if __name__ == "__main__":
    print(kafka_jars())
