"""A program that answers each line with a line of JSON, as a child process. What is asked is not known here."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class Child:
    """Up for as long as the `with`; what it prints besides JSON is ignored.

    Args:
        command: the program, which prints a first line of JSON when it is ready.
        log: for what it complains about; it runs in the folder of that, where some jars write a log of their own.
    """

    def __init__(self, command: Sequence[str | Path], log: Path) -> None:
        self._command = command
        self._log = log

    def __enter__(self) -> Self:
        self._errors = self._log.open("w")
        self._process = subprocess.Popen(
            self._command,
            cwd=self._log.parent,
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

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def answer_to(self, line: str) -> dict[str, Any]:
        """What it answers to a line.

        Raises:
            RuntimeError: it has ended.
        """
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise RuntimeError(f"{self._command[0]} ended early; see {self._log}")
