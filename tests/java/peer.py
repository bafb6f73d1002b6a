"""The official Java serializers as a child process, for tests and benchmarks: one question a line, one answer each.

`python -m tests.java.peer` fetches their jars, so that the tests need no network.
"""

import base64
import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiopravega.emulator.fetch import ensure_jars
from aiopravega.emulator.jars import JarList
from aiopravega.emulator.java import find_java

HERE = Path(__file__).parent


def serializer_jars() -> Path:
    """The folder of the jars that the emulator's class path lacks."""
    return ensure_jars(JarList.from_text((HERE / "serializers.lock").read_text(encoding="utf-8")))


class JavaSerializers:
    """Serializers of one registry; use it with `with`.

    Args:
        registry_uri: of a registry without credentials.
        folder: for a log that one of the jars writes, and for what Java complains about.
    """

    def __init__(self, registry_uri: str, folder: Path) -> None:
        path = os.pathsep.join(f"{jars}/*" for jars in (serializer_jars(), ensure_jars()))
        self._command = [find_java(), "-Xmx512m", "-cp", path, str(HERE / "Serializers.java"), registry_uri]
        self._folder = folder

    def __enter__(self) -> Self:
        self._errors = (self._folder / "serializers.log").open("w")
        self._process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.terminate()
        self._process.wait()
        self._errors.close()

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
        assert self._process.stdin is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        answer = self._answer()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise RuntimeError(f"Java ended early; see {self._errors.name}")


if __name__ == "__main__":
    print(serializer_jars())
