"""Cases of the fault matrix, and their results."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.faults.rows import SOURCE_ROWS, Rows

Side = Literal["before", "amid", "after"]
Ending = Literal["each row once", "PartialCommitError", "WriteIdReusedError", "WrongLedgerError", "StreamSealedError"]
Kind = Literal["batch", "streaming", "foreachBatch"]
ONCE: Ending = "each row once"
PARTIAL: Ending = "PartialCommitError"
REUSED: Ending = "WriteIdReusedError"
WRONG_LEDGER: Ending = "WrongLedgerError"
SEALED: Ending = "StreamSealedError"
# What a query reads in one micro-batch: about a quarter of its source.
_TRIGGER_BYTES = 40_000


@dataclass(frozen=True)
class Case:
    """One write that meets one fault: at the `nth` time that any process of the job comes to a side of a point.

    `words` say what happens, if that is not the same for all cases of its round; `between` does it, between two runs.
    What ends with `again` is of the run after the fault, if it differs. `{scope}` in the value of an option is the
    scope of the streams. With `adds`, the run after the fault is another write, whose rows follow those of the first
    one. `named`: whether batch jobs have a write id. With `foreach`, the query writes each micro-batch as a batch.
    """

    name: str
    point: str
    side: Side
    nth: int = 1
    seed: int = 1
    streaming: bool = False
    foreach: bool = False
    ending: Ending = ONCE
    rows: Rows | None = None
    rows_again: Rows | None = None
    trigger_bytes: int = _TRIGGER_BYTES
    trigger_bytes_again: int | None = None
    segments: int = 2
    options: dict[str, str] = field(default_factory=dict)
    options_again: dict[str, str] = field(default_factory=dict)
    adds: bool = False
    kind_again: Kind | None = None
    named: bool = True
    words: str = ""
    between: Callable[[Any, "Case"], None] | None = None

    @property
    def write_id(self) -> str | None:
        """The name of a batch job's write."""
        return f"write of {self.name}" if self.named else None

    @property
    def kind(self) -> Kind:
        """The kind of the writing job, in Spark's words."""
        return "foreachBatch" if self.foreach else "streaming" if self.streaming else "batch"

    @property
    def written(self) -> Rows:
        """The rows of the write."""
        return self.rows or Rows(self.seed)

    @property
    def withholds(self) -> bool:
        """True if rows may be missing, because the job stops with an error that says so."""
        return self.ending != ONCE and (self.ending != REUSED or self.streaming)

    @property
    def expected(self) -> list[bytes]:
        """The rows that are to be in the stream: those of the last run, unless some of the first one are there."""
        first = (SOURCE_ROWS if self.streaming else self.written).events()
        if self.rows_again is None or self.ending != ONCE:
            return first
        return (first if self.adds else []) + self.rows_again.events()


@dataclass(frozen=True)
class Result:
    """The result of a case, in numbers of events; `disordered` counts keys, `ended` is how the last run ended."""

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
        """True if all rows are there once, and in order."""
        return not (self.lost or self.doubled or self.strange or self.disordered)
