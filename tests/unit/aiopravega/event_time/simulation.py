"""A stream whose writers note times, and the marks that the controller would make of them.

By the rules of `PeriodicWatermarking` in Pravega's controller: a mark is made when all active writers have gone beyond
the lower time of the last one; a writer that has left counts until the marks have come to its time. The writers keep
what `aiopravega.event_time.answers` asks of them, and no more: their events come in any order between what they have
noted and what they will note and `ahead`; they are slow, or silent for long; they come late, leave early, and write
into the segments of all epochs that they know of.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiopravega import SegmentId, StreamName
from aiopravega.event_time.marks import Watermark

STREAM: Final = StreamName("examples", "orders")
STEPS: Final = 150
FIRST_TIME: Final = 100


@dataclass
class Writer:
    """Its notes and positions; `newest` is the time of its newest event, and `own` what lies before its last ones."""

    noted: int
    position: dict[SegmentId, int]
    newest: int
    noting: float
    own: dict[SegmentId, int]
    alive: bool = True


@dataclass
class World:
    """The stream: the events of each segment by their times, and the marks."""

    seed: int
    ahead: int
    events: dict[SegmentId, list[int]] = field(default_factory=dict)
    current: list[SegmentId] = field(default_factory=list)
    writers: list[Writer] = field(default_factory=list)
    marks: list[Watermark] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._scale(0)
        self._join()
        for _ in range(STEPS):
            self.random.choices(
                [self._write, self._note, self._mark, self._join, self._leave, self._scale_on], [50, 30, 10, 2, 1, 1]
            )[0]()

    def times_between(self, start: Watermark | None, end: Watermark) -> list[int]:
        """The times of the events between the head, or a mark's positions, and another one's."""
        found: list[int] = []
        for segment, times in self.events.items():
            found += times[_place(start, segment) if start else 0 : _place(end, segment)]
        return found

    def _tail(self) -> dict[SegmentId, int]:
        return {segment: len(self.events[segment]) for segment in self.current}

    def _lowest(self) -> int:
        return self.marks[-1].lower if self.marks else 0

    def _join(self) -> None:
        noted = max(self._lowest(), FIRST_TIME) + self.random.randint(1, 30)
        noting = self.random.choice([0.05, 0.5, 1.0])
        self.writers.append(Writer(noted, self._tail(), noted, noting, self._tail()))

    def _leave(self) -> None:
        staying = [writer for writer in self.writers if writer.alive]
        if len(staying) > 1:
            # Its last note is newer than all that it wrote: a note that the marks have reached already is ignored.
            self._note_of(staying[0])
            staying[0].noted = max(staying[0].noted, staying[0].newest + 1)
            staying[0].alive = False

    def _write(self) -> None:
        writer = self.random.choice([writer for writer in self.writers if writer.alive])
        for _ in range(self.random.randint(1, 3)):
            time = writer.noted + self.random.choice([0, 1, self.random.randint(0, 40)])
            writer.newest = max(writer.newest, time)
            segment = self.random.choice(self.current)
            self.events[segment].append(time)
            writer.own[segment] = len(self.events[segment])

    def _note(self) -> None:
        writer = self.random.choice([writer for writer in self.writers if writer.alive])
        if self.random.random() < writer.noting:
            self._note_of(writer)

    def _note_of(self, writer: Writer) -> None:
        writer.noted = max(writer.noted, writer.newest - self.ahead) + self.random.choice([0, 0, 1, 20])
        if self.random.random() < 0.5:
            writer.position = self._tail()
        else:
            noted = writer.position
            writer.position = {s: max(noted.get(s, 0), writer.own.get(s, 0)) for s in self.current}

    def _scale_on(self) -> None:
        self._scale(self.current[0].epoch + 1)

    def _scale(self, epoch: int) -> None:
        first = sum(segment.epoch < epoch for segment in self.events)
        self.current = [SegmentId(STREAM, first + number, epoch) for number in range(self.random.randint(1, 3))]
        self.events |= {segment: [] for segment in self.current}

    def _mark(self) -> None:
        self.writers = [writer for writer in self.writers if writer.alive or writer.noted > self._lowest()]
        if not self.writers or any(writer.noted <= self._lowest() for writer in self.writers):
            return
        positions = [writer.position for writer in self.writers]
        if self.marks:
            positions.append(dict(self.marks[-1].positions))
        newest = max(segment.epoch for position in positions for segment in position)
        cut: dict[SegmentId, int] = {}
        for position in positions:
            for segment, offset in position.items():
                if segment.epoch == newest:  # all segments are replaced at once, so that older ones are predecessors
                    cut[segment] = max(cut.get(segment, 0), offset)
        times = [writer.noted for writer in self.writers]
        self.marks.append(Watermark(min(times), max(times), cut))


def _place(mark: Watermark, segment: SegmentId) -> int | None:
    """How many events of a segment lie before a mark's positions; None: all of them."""
    epoch = next(iter(mark.positions)).epoch
    return mark.positions.get(segment, 0) if segment.epoch >= epoch else None


@dataclass
class ListedMarks:
    """Marks in memory; searching them checks that bisection may be used."""

    marks: list[Watermark]

    async def search(self, holds: Callable[[Watermark], bool]) -> tuple[Watermark | None, Watermark | None]:
        """See `MarkLog.search`."""
        answers = [holds(mark) for mark in self.marks]
        count = sum(answers)
        assert answers == [True] * count + [False] * (len(answers) - count)
        return self.marks[count - 1] if count else None, self.marks[count] if count < len(answers) else None
