"""Conditions that a stream must meet before a range is taken, and bounds of the range: the same for all schedulers.

A condition is a value that can be kept as plain JSON. It knows nothing of a cluster: `moved` has the checks. A new
condition is a field here, with its text and its check there, and a keyword of each sensor that offers it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Any, Final, Self, TypeAlias

from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName

WriterTime: TypeAlias = Annotated[int, "event time"]
"""An event time as a number of the unit in which a stream's writers count times."""


class Combine(StrEnum):
    """The number of conditions that have to hold: all, or any one."""

    ALL = "all"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class MoveCondition:
    """Conditions of which all or any have to hold; `max_bytes`, `max_events` and `transactions` only bound the range.

    Attributes:
        min_bytes: bytes since the start, event headers (8 bytes each) included. None: with `Combine.ALL` 1; with
            `Combine.ANY` bytes are not a condition. A range is empty only if this is 0.
        quiet_for: seconds for which nothing was written; a stream that is sealed is quiet. 0: no condition.
        sealed: the stream is sealed.
        min_events: events since the start, which are counted by reading them. 0: no condition.
        max_bytes: a range that has more ends earlier, between events.
        reach: the tail is at this cut or after it.
        watermark: by its watermarks the stream is complete up to this event time, as its writers count it.
        max_events: a range that has more ends earlier; but it has at least one event of each segment that has any.
        combine: whether all conditions have to hold, or any one.
        transactions: Debezium's stream of transactions, `scope/stream`, or `stream` in the same scope; a range of a
            table's stream ends where all its transactions are whole, which may be earlier than the tail.
    """

    min_bytes: int | None = None
    quiet_for: float = 0.0
    sealed: bool = False
    min_events: int = 0
    max_bytes: int | None = None
    reach: StreamCut | None = None
    watermark: WriterTime | None = None
    max_events: int | None = None
    combine: Combine = Combine.ALL
    transactions: str | None = None

    def __post_init__(self) -> None:
        if self.quiet_for < 0:
            raise ConfigurationError(f"quiet_for is {self.quiet_for:g} s, but cannot be negative")
        if (self.min_bytes or 0) < 0 or self.min_events < 0:
            raise ConfigurationError(f"min_bytes is {self.min_bytes} and min_events {self.min_events}: at least 0 each")
        for name, most, least in (
            ("bytes", self.max_bytes, self.min_bytes or 0),
            ("events", self.max_events, self.min_events),
        ):
            # Otherwise each range would be cut to less than the sensor has waited for.
            if most is not None and most < max(least, 1):
                raise ConfigurationError(
                    f"max_{name} is {most}, but must be at least min_{name} ({least}) and at least 1"
                )
        if self.reach is not None and self.reach.stream is None:
            raise ConfigurationError("an unbounded StreamCut is not a position that a stream can reach")
        if self.transactions is not None:
            StreamName.parse(self.transactions, "scope")
        if self.combine is Combine.ANY and not self._parts():
            raise ConfigurationError(
                "combine=any has no condition, so it would wait forever: give min_bytes, min_events, quiet_for, "
                "sealed, reach or watermark"
            )

    @property
    def least_bytes(self) -> int:
        """The fewest bytes of a range, whichever of the conditions hold."""
        if self.combine is Combine.ALL:
            return 1 if self.min_bytes is None else self.min_bytes
        return 0 if self.min_bytes == 0 else 1

    @property
    def changes_by_itself(self) -> bool:
        """True if the conditions may begin to hold while the stream stands still."""
        return self.quiet_for > 0 or self.watermark is not None or self.transactions is not None

    def __str__(self) -> str:
        text = (" or " if self.combine is Combine.ANY else ", ").join(self._parts()) or f"{self.least_bytes:,} bytes"
        return text + (f", up to where the transactions of {self.transactions} are whole" if self.transactions else "")

    def _parts(self) -> list[str]:
        """The conditions that are given, as text."""
        given = (
            (self.min_bytes is not None, f"{self.min_bytes or 0:,} bytes"),
            (self.min_events, f"{self.min_events:,} events"),
            (self.quiet_for, f"nothing written for {self.quiet_for:g} s"),
            (self.sealed, "sealed"),
            (self.reach is not None, f"at {self.reach} or after it"),
            (self.watermark is not None, f"complete up to the event time {self.watermark}"),
        )
        return [text for is_given, text in given if is_given]

    def bounds(self) -> Self:
        """A condition that holds at once, with the same bounds of a range."""
        return type(self)(
            min_bytes=0, max_bytes=self.max_bytes, max_events=self.max_events, transactions=self.transactions
        )

    def to_json(self) -> dict[str, Any]:
        """The conditions as plain JSON, without the fields that have their defaults."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        given = {each.name: values[each.name] for each in fields(self) if values[each.name] != each.default}
        return {name: value.to_text() if isinstance(value, StreamCut) else value for name, value in given.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read the JSON of `to_json`."""
        types = {each.name: each.type for each in fields(cls)}
        return cls(**{name: _FROM_JSON.get(types.get(name), _as_is)(value) for name, value in values.items()})


def _as_is(value: Any) -> Any:
    return value


# By the type of a field; values of other types are the same in JSON.
_FROM_JSON: Final[Mapping[object, Callable[[Any], Any]]] = {StreamCut | None: StreamCut.from_text, Combine: Combine}
