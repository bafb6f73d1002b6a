"""What a case of the fault matrix is, and what comes out of one."""

from dataclasses import dataclass, field
from typing import Literal

from tests.faults.rows import Rows

Side = Literal["before", "amid", "after"]
Ending = Literal["each row once", "PartialCommitError", "WriteIdReusedError"]
ONCE: Ending = "each row once"
PARTIAL: Ending = "PartialCommitError"
REUSED: Ending = "WriteIdReusedError"


@dataclass(frozen=True)
class Case:
    """One write that meets one fault: at the `nth` time that any process of the job comes to a side of a point.

    `rows_again` are those of the run after the fault, if they differ; `trigger_bytes_again` are for its micro-batches.
    """

    name: str
    point: str
    side: Side
    nth: int = 1
    seed: int = 1
    streaming: bool = False
    ending: Ending = ONCE
    rows: Rows | None = None
    rows_again: Rows | None = None
    trigger_bytes_again: int | None = None
    segments: int = 2
    options: dict[str, str] = field(default_factory=dict)

    @property
    def write_id(self) -> str:
        """The name of a batch job's write."""
        return f"write of {self.name}"

    @property
    def written(self) -> Rows:
        """The rows of the write."""
        return self.rows or Rows(self.seed)

    @property
    def withholds(self) -> bool:
        """Whether rows may be missing, because the job stops and says so."""
        return self.ending == PARTIAL or (self.ending == REUSED and self.streaming)

    @property
    def expected(self) -> Rows:
        """The rows that are to be in the stream: those of the last run, unless some of the first one are there."""
        return self.rows_again if self.rows_again and self.ending == ONCE else self.written


@dataclass(frozen=True)
class Result:
    """What came of a case, in numbers of events; `disordered` counts keys, `ended` is how the last run ended."""

    events: int
    lost: int
    doubled: int
    strange: int
    disordered: int
    ended: str
    runs: str
    seconds: float

    @property
    def is_exact(self) -> bool:
        """Whether everything is there once, and in order."""
        return not (self.lost or self.doubled or self.strange or self.disordered)
