"""The official Java serializers as a child process, for tests and benchmarks: one question a line, one answer each.

`python -m tests.java.peer` fetches their jars, so that the tests need no network.
"""

import base64
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.java.child import Child
from tests.java.program import java_program

from aiopravega.names import StreamName
from pravega_emulator.fetch import ensure_jars
from pravega_emulator.jars import JarList

HERE = Path(__file__).parent


def serializer_jars() -> Path:
    """The folder of the jars that the emulator's class path lacks."""
    return ensure_jars(JarList.from_text((HERE / "serializers.lock").read_text(encoding="utf-8")))


def lz4_jar() -> Path:
    """The library of LZ4 for Java, which PySpark brings."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (jar,) = (Path(spec.origin).parent / "jars").glob("lz4-java-*.jar")
    return jar


class JavaSerializers(Child):
    """Serializers of one registry; use it with `with`.

    Args:
        registry_uri: of a registry without credentials.
        folder: for a log that one of the jars writes, and for what Java complains about.
        full_jit: compile hot code as fast as it can be, for `time`.
    """

    def __init__(self, registry_uri: str, folder: Path, *, full_jit: bool = False) -> None:
        program = HERE / "Serializers.java"
        jars = [serializer_jars(), lz4_jar()]
        command = java_program(program, registry_uri, heap_megabytes=512, jars=jars, full_jit=full_jit)
        super().__init__(command, folder / "serializers.log")

    def write(self, value: str, **how: Any) -> bytes:
        """The event that Java makes of a value, which is JSON."""
        return bytes.fromhex(self._ask({"do": "write", "value": value, **how})["event"])

    def read(self, event: bytes, **how: Any) -> str:
        """The value that Java reads out of an event, as JSON."""
        return str(self._ask({"do": "read", "event": event.hex(), **how})["value"])

    def time(self, value: str, events: int, **how: Any) -> dict[str, float]:
        """Seconds of the processor for so many events, to `serialize` and to `deserialize` them."""
        return self._ask({"do": "time", "value": value, "events": events, **how})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        if isinstance(schema := question.get("schema"), bytes):
            question["schema"] = base64.b64encode(schema).decode()
        answer = self.answer_to(json.dumps(question))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


class JavaSchemaJudge(Child):
    """Avro's own check of two schemas; use it with `with`. It needs no server.

    Args:
        folder: for what Java complains about.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(java_program(HERE / "SchemaJudge.java"), folder / "judge.log")

    def verdict(self, reader: str, writer: str) -> dict[str, Any]:
        """Whether it is `compatible` and what the `problem` is; `refused` says which one is not a schema."""
        return self.answer_to(json.dumps({"reader": reader, "writer": writer}))


class JavaClient(Child):
    """The client of one cluster; use it with `with`. What it can be asked is in `Client.java`.

    Args:
        controller_uri: of a cluster without credentials.
        folder: for the contents of events, for a log that one of the jars writes, and for what Java complains about.
    """

    def __init__(self, controller_uri: str, folder: Path) -> None:
        command = java_program(HERE / "Client.java", controller_uri, heap_megabytes=2048)
        super().__init__(command, folder / "client.log")
        self._folder = folder

    def ask(self, what: str, **how: Any) -> dict[str, Any]:
        """What it answers.

        Raises:
            RuntimeError: it could not do it; the message is Java's.
        """
        answer = self.answer_to(json.dumps({"do": what, **how}))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def write(
        self,
        stream: StreamName,
        events: Sequence[tuple[str, bytes]],
        *,
        large: bool = False,
        how: str = "write",
        **more: Any,
    ) -> None:
        """Write pairs of a routing key and an event; all are durable then."""
        given = []
        for number, (key, data) in enumerate(events):
            file = self._folder / f"event-{number}"
            file.write_bytes(data)
            given.append({"key": key, "file": str(file)})
        self.ask(how, scope=stream.scope, stream=stream.stream, large=large, events=given, **more)

    def read(self, stream: StreamName, **cuts: str) -> list[tuple[int, str]]:
        """The length and the SHA-256 of each event of a stream, segment by segment; `start` and `end` are cuts."""
        answer = self.ask("read", scope=stream.scope, stream=stream.stream, **cuts)
        return [(event["size"], event["sha256"]) for event in answer["events"]]


class JavaGroups(Child):
    """Reader groups of one cluster; use it with `with`. What it can be asked is in `Groups.java`.

    Args:
        controller_uri: of a cluster without credentials.
        folder: for what Java complains about.
    """

    def __init__(self, controller_uri: str, folder: Path) -> None:
        command = java_program(HERE / "Groups.java", controller_uri, heap_megabytes=512)
        super().__init__(command, folder / "groups.log")

    def ask(self, what: str, **how: Any) -> dict[str, Any]:
        """What it answers.

        Raises:
            RuntimeError: it could not do it; the message is Java's.
        """
        answer = self.answer_to(json.dumps({"do": what, **how}))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def kill(self) -> None:
        """End it as a crash does: its readers do not leave their groups."""
        self._process.kill()
        self._process.wait()


if __name__ == "__main__":
    print(serializer_jars())
