"""The error output of Spark's JVM, as lines of the task's log with their own levels.

Airflow takes every line of a task's error output for an error, and a JVM inherits that output. So the JVM gets a pipe
instead, which a thread reads for as long as the JVM lives.
"""

import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

_STDERR: Final = 2
# Spark's own pattern begins with date and time.
_LINE: Final = re.compile(r"(?:\S+ ){0,3}(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
_LEVELS: Final = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
# Each JVM and each Spark says this when it starts, and no job can change it.
_USUAL: Final = re.compile(
    r"WARNING: |.*(?:resolves to a loopback address|Set SPARK_LOCAL_IP|Unable to load native-hadoop library"
    r"|Using Spark's default log4j profile|Setting default log level to|To adjust logging level use)"
)


class LevelLog(Protocol):
    """A logger, of Python or of Airflow."""

    def log(self, level: int, event: str, /, *args: object) -> object:
        """Add a line."""


@contextmanager
def jvm_lines_logged(log: LevelLog) -> Iterator[None]:
    """Log the error output of programs that the block starts; they may live longer than the block.

    A line without a level, such as a line of a traceback, has the level of the line before. What each start says is
    logged at DEBUG.
    """
    reader, writer = os.pipe()
    kept = os.dup(_STDERR)
    os.dup2(writer, _STDERR)
    os.close(writer)
    threading.Thread(target=_log_lines, args=(reader, log), daemon=True).start()
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)


def _log_lines(reader: int, log: LevelLog) -> None:
    level = logging.INFO
    with os.fdopen(reader, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = _LINE.match(line)
            is_usual = _USUAL.match(line) is not None
            if match and not is_usual:
                level = _LEVELS[match[1]]
            log.log(logging.DEBUG if is_usual else level, "%s", line.rstrip())
