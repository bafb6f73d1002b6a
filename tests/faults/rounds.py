"""Rounds of the fault matrix, and the points of a write that rounds choose from."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tests.faults.case import Case, Side
from tests.faults.faults import Fault

Server = Literal["plain", "short leases", "durable"]
At = tuple[str, Side, int]

# Where tasks are, and where the driver is. Of three partitions, the second one is met.
OPENING: tuple[At, ...] = (("open", "before", 2), ("open", "after", 2))
SENDING: tuple[At, ...] = (("block", "amid", 2), ("acknowledgement", "before", 2))
LEAVING: tuple[At, ...] = (("flush", "after", 2), ("leave", "after", 2))
BEGINNING: tuple[At, ...] = (("begin", "before", 1), ("lookup", "after", 1))
DECIDING: tuple[At, ...] = (("hold", "before", 1), ("prepared", "before", 1), ("prepared", "after", 1))
COMMITTING: tuple[At, ...] = (("commit", "after", 1), ("commit", "after", 2), ("commit", "after", 3))
FINISHING: tuple[At, ...] = (("visible", "before", 1), ("done", "before", 1), ("done", "after", 1))
# In the second micro-batch, of three partitions into two segments.
IN_A_BATCH: tuple[At, ...] = (
    ("open", "after", 5),
    ("block", "amid", 8),
    ("leave", "after", 5),
    ("prepared", "before", 2),
    ("prepared", "after", 2),
    ("commit", "after", 5),
    ("done", "before", 2),
    ("done", "after", 2),
)
# In the first micro-batch.
IN_THE_FIRST_BATCH: tuple[At, ...] = (
    ("open", "after", 2),
    ("block", "amid", 2),
    ("leave", "after", 2),
    ("prepared", "after", 1),
    ("commit", "after", 2),
    ("done", "before", 1),
    ("done", "after", 1),
)
# Where one task of a write continues for long, while others have ended.
STRAGGLING: tuple[At, ...] = (("flush", "before", 2), ("flush", "before", 3))
# The same in the second micro-batch of a query: a job starts further queries when the first one has written a batch.
STRAGGLING_IN_A_BATCH: tuple[At, ...] = (("flush", "before", 5), ("flush", "before", 6))
QUERY = Case("", "", "before", streaming=True)
# What the server with short leases takes.
SHORT = Case("", "", "before", options={"transaction_timeout_ms": "15000"})


@dataclass(frozen=True)
class Round:
    """Cases that one fault meets at once; `words` say what dies."""

    name: str
    words: str
    fault: Fault
    cases: tuple[Case, ...]
    server: Server = "plain"


def cases(prefix: str, points: Iterable[At], like: Case | None = None) -> tuple[Case, ...]:
    """A case like another one at each of some points."""
    model = like or Case("", "", "before")
    return tuple(
        replace(model, name=f"{prefix}-{point}-{side}-{nth}", point=point, side=side, nth=nth)
        for point, side, nth in points
    )
