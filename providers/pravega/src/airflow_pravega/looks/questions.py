"""What the triggers ask about streams: the tail, or up to which event time all is there."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Protocol, Self, TypeVar
from uuid import UUID

from aiopravega import PravegaClient, StreamName
from aiopravega.control import TransactionState
from aiopravega.event_time import Reach
from aiopravega.groups import ReaderGroupDescription
from aiopravega.intervals.conditions.tails import Tail, TailWatch

A_co = TypeVar("A_co", bound=Hashable, covariant=True)

# Later than any event time.
_LAST_TIME: Final = 2**63 - 1


class Asked(Protocol[A_co]):
    """A question that is asked again and again; it may remember what makes the next answer cheaper."""

    async def check(self, client: PravegaClient) -> A_co:
        """The answer now.

        Raises:
            PravegaError: there is none.
        """


class Question(Hashable, Protocol[A_co]):
    """A question about a stream; equal ones are asked once."""

    @property
    def stream(self) -> StreamName:
        """The stream."""

    def begin(self) -> Asked[A_co]:
        """Start to ask it."""


@dataclass(frozen=True, slots=True)
class TailOf:
    """Where does the stream end?"""

    stream: StreamName

    def begin(self) -> Asked[Tail]:
        return TailWatch(self.stream)


@dataclass(frozen=True, slots=True)
class Marks:
    """Up to which event time, as a number of the writers' unit, is the stream complete? None: sealed, so to the end."""

    stream: StreamName

    def begin(self) -> "_MarksWatch":
        return _MarksWatch(self.stream)


@dataclass(frozen=True, slots=True)
class StateOfTransaction:
    """What is the state of a transaction?"""

    stream: StreamName
    transaction: UUID

    def begin(self) -> Self:
        return self

    async def check(self, client: PravegaClient) -> TransactionState:
        return await client.attach_transaction(self.stream, self.transaction).state()


@dataclass(frozen=True, slots=True)
class DescriptionOf:
    """How far is a reader group? `stream` is its scope and name."""

    stream: StreamName

    def begin(self) -> Self:
        return self

    async def check(self, client: PravegaClient) -> ReaderGroupDescription:
        return await client.describe_reader_group(self.stream.scope, self.stream.stream)


class _MarksWatch:
    def __init__(self, stream: StreamName) -> None:
        self._stream = stream

    async def check(self, client: PravegaClient) -> int | None:
        last = await client.cut_at(self._stream, _LAST_TIME)
        return None if last.reach is Reach.COMPLETE else last.lower
