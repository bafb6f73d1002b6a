"""Keeps passwords out of py4j's logs: at DEBUG it logs each command to Spark, with the values of options among them.

It holds for the processes of schedulers, which set a job's options here. A program that calls `.option("password", …)`
itself, with py4j at DEBUG, logs it: give passwords in the environment instead.
"""

import logging
import re
from typing import Final

_LOGGERS: Final = ("py4j.java_gateway", "py4j.clientserver")
_SECRET: Final = re.compile("password|token", re.IGNORECASE)


class _WithoutSecrets(logging.Filter):
    """Drops lines of DEBUG that set a password or a token, which is a whole command each."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is logged."""
        return record.levelno > logging.DEBUG or not _SECRET.search(record.getMessage())


_FILTER: Final = _WithoutSecrets()


def keep_secrets_out() -> None:
    """Have py4j log no option that is a secret; safe to repeat."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
