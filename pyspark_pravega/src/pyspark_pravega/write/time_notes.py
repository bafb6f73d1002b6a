"""What a write says of event time, when its rows are in the stream: of the notes of all writers come the watermarks."""

import logging
from collections.abc import Sequence
from typing import Final

from pyspark.sql.datasource import WriterCommitMessage

from aiopravega.blocking import PravegaClient
from aiopravega.errors import PravegaError
from pyspark_pravega.write.task import messages_of
from pyspark_pravega.write.write_options import WriteOptions

logger = logging.getLogger(__name__)

_MILLISECOND: Final = 1_000_000  # nanoseconds


def note_time(
    client: PravegaClient, options: WriteOptions, writer: str, messages: Sequence[WriterCommitMessage | None]
) -> None:
    """Note the latest time of what tasks have written, less the delay with which rows may come.

    The rows are in the stream, so a note that fails does not fail the write: the next one stands for both.
    """
    latest = max((message.latest for message in messages_of(messages) if message.latest is not None), default=None)
    if latest is None:
        return
    stream, times = options.stream, options.times
    try:
        client.note_time(stream, times.writer or writer, latest - _delay(options))
    except PravegaError as error:
        logger.warning("%s: time %d is not noted: %s", stream, latest, error)


def _delay(options: WriteOptions) -> int:
    """The delay in the unit of the stream's times."""
    return options.times.delay * _MILLISECOND // options.times.unit
