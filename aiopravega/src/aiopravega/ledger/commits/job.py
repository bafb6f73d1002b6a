"""One attempt of one write, as its driver hands it to its tasks. No I/O."""

import time
from dataclasses import dataclass, field
from uuid import UUID

from aiopravega.ledger.commits.commit_record import StoredCommit, described
from aiopravega.names import StreamName


@dataclass(frozen=True, slots=True)
class WriteJob:
    """One attempt of one write.

    `replaces` is the record of an earlier attempt that this one may replace. `lost` are the partitions that are
    missing of that one, if the others are in the stream already; None: all are to be written. `begun_at` is the time
    of the process that began it, in seconds. `generation` is 1 for the first rows under the write id; the next one
    replaces the record of the one before it, and keeps that.
    """

    sink: StreamName
    write_id: str
    attempt: UUID
    incarnation: int
    replaces: StoredCommit | None = None
    lost: frozenset[int] | None = None
    begun_at: float = field(default_factory=time.time)
    generation: int = 1

    def needs(self, partition: int) -> bool:
        """Whether a partition is to be written; what is in the stream already need not be."""
        return self.lost is None or partition in self.lost

    @property
    def age(self) -> float:
        """Seconds since it was begun, if this machine's clock agrees with that of the driver."""
        return time.time() - self.begun_at

    def __str__(self) -> str:
        return described(self.sink, self.write_id, self.generation)
