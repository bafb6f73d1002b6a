"""What a write logs when it is done: how much, how long, how fast."""

import logging
import sys
from typing import Final

from aiopravega.ledger import CommitRecord, WriteJob

logger = logging.getLogger(__name__)

_MEGABYTE: Final = 1_000_000


def report(job: WriteJob, record: CommitRecord) -> None:
    """Log how fast a job was, from the time when its driver began it until its rows can be read.

    Spark's Python processes set up no logging, so that only warnings would come into the driver's log.
    """
    if not logging.getLogger().handlers and not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    seconds = max(job.age, 0.001)
    logger.info(
        "%s: %s events in %s bytes by %d tasks in %.2f s (%.1f MB/s, %s events/s)",
        record.name,
        f"{record.total_events:,}",
        f"{record.total_bytes:,}",
        len(record.partitions),
        seconds,
        record.total_bytes / seconds / _MEGABYTE,
        f"{record.total_events / seconds:,.0f}",
    )
