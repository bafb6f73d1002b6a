"""The rows of a case: made by Spark from their numbers, and made again here to compare with.

A row is `key:number:padding`. Each key is in one partition, so that its numbers have one order: the rows of different
partitions are in different transactions.
"""

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

_NUMBER_DIGITS = 7
_STEP = 7919  # a prime, so that paddings take all lengths


@dataclass(frozen=True)
class Rows:
    """The rows of a write: numbered rows in partitions of the same size; `seed` decides keys and paddings.

    The numbers begin with `first`, so that two writes to one stream have no row and no key in common. It is a multiple
    of the rows of a partition.
    """

    seed: int
    count: int = 300
    partitions: int = 3
    longest: int = 200
    first: int = 0

    @property
    def keys(self) -> int:
        """Routing keys of each partition."""
        return random.Random(self.seed).randint(1, 9)

    @property
    def each(self) -> int:
        """Rows of one partition."""
        return self.count // self.partitions

    def sql(self) -> list[str]:
        """Expressions over `id` for the columns `event` and `routing_key`."""
        key = f"concat('p', id div {self.each}, 'k', id % {self.keys})"
        padding = f"repeat('.', int((id * {_STEP} + {self.seed}) % {self.longest}))"
        return [
            f"concat({key}, ':', lpad(id, {_NUMBER_DIGITS}, '0'), ':', {padding}) AS event",
            f"{key} AS routing_key",
        ]

    def events(self) -> list[bytes]:
        """The same rows, in order."""
        return [
            b"p%dk%d:%07d:%b"
            % (
                number // self.each,
                number % self.keys,
                number,
                b"." * ((number * _STEP + self.seed) % self.longest),
            )
            for number in range(self.first, self.first + self.count)
        ]


# What queries read.
SOURCE_ROWS = Rows(seed=7, count=1200, partitions=3)


class Difference(NamedTuple):
    """The errors in events that were read: numbers of events, and of keys whose events are out of order."""

    lost: int
    doubled: int
    strange: int
    disordered: int


def difference(expected: Iterable[bytes], found: Iterable[bytes]) -> Difference:
    """Compare as multisets, and per key as sequences."""
    wanted = set(expected)
    times: defaultdict[bytes, int] = defaultdict(int)
    numbers: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for event in found:
        times[event] += 1
        key, number, *_ = event.split(b":")
        numbers[key].append(number)
    return Difference(
        lost=len(wanted - times.keys()),
        doubled=sum(count - 1 for count in times.values()),
        strange=len(times.keys() - wanted),
        disordered=sum(sequence != sorted(sequence) for sequence in numbers.values()),
    )
