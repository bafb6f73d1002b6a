"""A search for the first event with some content: looked for again and again, some events and bytes at a time.

Each event is inspected once. A search ends at a cut before which all events were inspected, so that another one can
continue there: it misses nothing, and finds no event again.
"""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from aiopravega import PravegaClient, wire
from aiopravega.cuts import StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, MalformedEventError, StreamSealedError
from aiopravega.intervals.conditions.tails import Tail
from aiopravega.names import SegmentId
from aiopravega.read import EventPointer
from aiopravega.read.events import Event

# Events that are handed to a thread at a time.
_BATCH: Final = 500
_STEP: Final = re.compile(r"\.(?P<name>[^\W\d]\w*)|\[(?:'(?P<one>[^'\\]*)'|\"(?P<two>[^\"\\]*)\"|(?P<at>-?\d+))\]")
_COMPARISON: Final = re.compile(
    r"\s*(?P<operator>==|!=|<=|>=|<|>)\s*(?:'(?P<text>[^'\\]*)'|(?P<json>\"(?:[^\"\\]|\\.)*\"|[^\s'\"&|]+))"
)
_AND: Final = re.compile(r"\s*&&\s*")
_MISSING: Final = object()
_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": lambda one, other: bool(one < other),
    "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other),
    ">=": lambda one, other: bool(one >= other),
}

Test = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class EventCondition:
    """A condition on the content of one event: `where` or `function`.

    Attributes:
        where: comparisons of values in the event's JSON, as `$.type == 'end' && $.total > 1000`. A path has names and
            indexes (a singular query of RFC 9535); alone it holds if there is such a value. Comparisons follow
            RFC 9535: numbers and texts have an order, and values of different types are not equal.
        function: `module:function`, which gets the event's value and returns whether the condition holds.
        decode: what the function gets: `json`, the value, or `bytes`.
        on_error: the rule for events that are not JSON: `fail`, or `skip` them.
    """

    where: str | None = None
    function: str | None = None
    decode: str = "json"
    on_error: str = "fail"

    def __post_init__(self) -> None:
        if (self.where is None) == (self.function is None):
            raise ConfigurationError("a condition on events is where= or function=, and not both")
        for name, value, choices in (
            ("decode", self.decode, ("json", "bytes")),
            ("on_error", self.on_error, ("fail", "skip")),
        ):
            if value not in choices:
                raise ConfigurationError(f"{name} is {value!r}, but must be one of {choices}")
        if self.where is not None:
            if self.decode == "bytes":
                raise ConfigurationError("where= compares values of JSON: give function= for events that are bytes")
            parsed(self.where)

    def __str__(self) -> str:
        return self.where if self.where is not None else f"{self.function}"

    def to_json(self) -> dict[str, Any]:
        """The condition as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave."""
        return cls(**value)

    def test(self) -> Test:
        """The condition as a function of an event's value; a function is imported now.

        Raises:
            ConfigurationError: there is no such function, or it cannot be called here.
        """
        if self.where is not None:
            return parsed(self.where)
        from pravega_jobs.sandbox.functions import named_function

        found: Any = named_function(str(self.function))
        if not callable(found) or inspect.iscoroutinefunction(found):
            raise ConfigurationError(f"{self.function!r} is not a plain function")
        return lambda value: bool(found(value))


def parsed(where: str) -> Test:
    """The function of a text such as `$.type == 'end' && $.total > 1000`.

    Raises:
        ConfigurationError: the text is not understood.
    """
    tests, at = [], 0
    while True:
        test, at = _comparison(where, at)
        tests.append(test)
        if at == len(where):
            return lambda value: all(each(value) for each in tests)
        following = _AND.match(where, at)
        if following is None:
            raise _not_understood(where, at)
        at = following.end()


def _comparison(where: str, at: int) -> tuple[Test, int]:
    if not where.startswith("$", at):
        raise _not_understood(where, at)
    at += 1
    steps: list[str | int] = []
    while step := _STEP.match(where, at):
        name = next((step[each] for each in ("name", "one", "two") if step[each] is not None), None)
        steps.append(int(step["at"]) if name is None else name)
        at = step.end()
    compared = _COMPARISON.match(where, at)
    if compared is None:
        return lambda value: _value_at(value, steps) is not _MISSING, at
    operator = compared["operator"]
    try:
        literal = compared["text"] if compared["json"] is None else json.loads(compared["json"])
    except ValueError:
        raise _not_understood(where, compared.start("json")) from None
    if isinstance(literal, dict | list):
        raise _not_understood(where, compared.start("json"))
    return lambda value: _holds(_value_at(value, steps), operator, literal), compared.end()


def _not_understood(where: str, at: int) -> ConfigurationError:
    return ConfigurationError(
        f"{where!r} is not understood from {where[at : at + 20]!r} on: write paths and comparisons such as "
        "$.type == 'end' && $.items[0].price > 10, or give function='module:function'"
    )


def _value_at(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return _MISSING
    return value


def _holds(value: Any, operator: str, literal: Any) -> bool:
    same_kind = _kind(value) is _kind(literal)
    if operator in ("==", "!="):
        return (same_kind and value == literal) is (operator == "==")
    return same_kind and _kind(value) in (float, str) and _ORDERS[operator](value, literal)


def _kind(value: Any) -> type:
    """The type of a value of JSON: integers and other numbers have one, and truth values are not numbers."""
    return float if type(value) is int else type(value)


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event that holds, and the cut after it: all events before the cut were inspected."""

    pointer: EventPointer
    cut: StreamCut

    def to_json(self) -> dict[str, str]:
        """Both as texts."""
        return {"pointer": self.pointer.to_text(), "cut": self.cut.to_text()}


class EventSearch:
    """Looks for the first event that holds, from a cut on.

    Args:
        condition: the condition.
        start: the cut.
        most_events: the most events of one look.
        most_bytes: the most bytes of one look, event headers included; a single longer event is inspected.
        log: gets a warning about events that are skipped.

    Attributes:
        cut: all events before it were inspected.
        is_behind: True if a look has ended before the tail that it was given.

    Raises:
        ConfigurationError: a limit is less than 1, or the function of the condition cannot be imported.
    """

    def __init__(
        self, condition: EventCondition, start: StreamCut, *, most_events: int, most_bytes: int, log: Any
    ) -> None:
        if most_events < 1 or most_bytes < 1:
            raise ConfigurationError(f"most_events is {most_events}, and most_bytes {most_bytes}: at least 1 each")
        self.condition = condition
        self.cut = start
        self.is_behind = False
        self._test = condition.test()
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._log = log
        # The end of a part that one look did not finish: until then no other segment is read further.
        self._end: StreamCut | None = None

    async def look(self, client: PravegaClient, tail: Tail) -> FoundEvent | None:
        """Inspect the next events before a tail of the stream.

        Raises:
            StreamSealedError: the stream is sealed, and has no such event.
            MalformedEventError: an event is not JSON.
            ConfigurationError: the function raises an error.
            PravegaError: the cut does not fit the stream, or the cluster cannot be reached.
        """
        found = None
        if self.cut != tail.cut:
            end = self._end or await client.next_cut(self.cut, self._most_bytes, tail.cut)
            found = await self._look_until(client, end)
        self.is_behind = self.cut != tail.cut
        if found is None and tail.is_sealed and not self.is_behind:
            raise StreamSealedError(f"{tail.cut.stream} is sealed, and no event is left that holds: {self.condition}")
        return found

    async def _look_until(self, client: PravegaClient, end: StreamCut) -> FoundEvent | None:
        passed: dict[SegmentId, int] = {}
        looked = 0
        async with aclosing(client.read(StreamCutRange(self.cut, end))) as reading:
            is_over = False
            while not is_over and looked < self._most_events:
                batch: list[Event] = []
                while len(batch) < min(_BATCH, self._most_events - looked):
                    event = await anext(reading, None)
                    if event is None:
                        is_over = True
                        break
                    batch.append(event)
                # In a thread: a triggerer has one event loop for all.
                at = await asyncio.to_thread(self._first, batch)
                looked += len(batch)
                for each in batch if at is None else batch[: at + 1]:
                    passed[each.segment] = each.offset + wire.EVENT_HEADER + len(each.data)
                if at is not None:
                    self.cut, self._end = await self._advanced(client, passed), end
                    return FoundEvent(EventPointer.of(batch[at]), self.cut)
        if is_over:
            self.cut, self._end = end, None
        else:
            self.cut, self._end = await self._advanced(client, passed), end
        return None

    def _first(self, batch: list[Event]) -> int | None:
        """The index of the first event that holds."""
        skipped: list[Event] = []
        found = None
        for index, event in enumerate(batch):
            value: Any = event.data
            if self.condition.decode == "json":
                try:
                    value = json.loads(event.data)
                except (ValueError, RecursionError) as error:
                    if self.condition.on_error == "fail":
                        raise MalformedEventError(
                            f"the event {EventPointer.of(event).to_text()} is not JSON ({error}): "
                            "on_error='skip' leaves such events out"
                        ) from error
                    skipped.append(event)
                    continue
            try:
                holds = self._test(value)
            except Exception as error:
                pointer = EventPointer.of(event).to_text()
                raise ConfigurationError(
                    f"{self.condition} raises {type(error).__name__} for the event {pointer}: {error}"
                ) from error
            if holds:
                found = index
                break
        if skipped:
            pointer = EventPointer.of(skipped[0]).to_text()
            self._log.warning("%d events are not JSON, and are left out; the first one is %s", len(skipped), pointer)
        return found

    async def _advanced(self, client: PravegaClient, passed: Mapping[SegmentId, int]) -> StreamCut:
        """The cut with the events that were inspected before it; a segment is read after all that it replaced."""
        stream, positions = self.cut.stream, self.cut.positions
        if passed.keys() <= positions.keys():
            return StreamCut(stream, {**positions, **passed})
        cuts = [self.cut, *(StreamCut(stream, {segment: offset}) for segment, offset in passed.items())]
        return (await client.arithmetic.history(cuts)).latest(cuts)
