"""Values of streams that triggers wait for: the tail, the event time up to which a stream is complete, and others."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Protocol, Self, TypeVar
from uuid import UUID

from aiopravega import PravegaClient, StreamName
from aiopravega.control import TransactionState
from aiopravega.errors import NoWatermarksError
from aiopravega.event_time import Reach
from aiopravega.groups import ReaderGroupDescription
from aiopravega.intervals.conditions.tails import Tail, TailWatch

A_co = TypeVar("A_co", bound=Hashable, covariant=True)

# Later than any event time.
_LAST_TIME: Final = 2**63 - 1


class Checker(Protocol[A_co]):
    """Asks the servers for a value again and again; it may remember data that makes the next check cheaper."""

    async def check(self, client: PravegaClient) -> A_co:
        """Ask for the value as it is now.

        Raises:
            PravegaError: the servers do not give it.
        """


class PolledValue(Hashable, Protocol[A_co]):
    """A value of a stream; triggers that wait for equal ones share one poller."""

    @property
    def stream(self) -> StreamName | str:
        """The stream, for messages; or the scope."""

    def checker(self) -> Checker[A_co]:
        """A new checker of the value."""


@dataclass(frozen=True, slots=True)
class TailOf:
    """The tail of a stream, and whether the stream is sealed."""

    stream: StreamName

    def checker(self) -> Checker[Tail]:
        return TailWatch(self.stream)


@dataclass(frozen=True, slots=True)
class StreamsOf:
    """The names of the streams of a scope, in order."""

    stream: str

    def checker(self) -> Self:
        return self

    async def check(self, client: PravegaClient) -> tuple[str, ...]:
        return tuple(sorted(each.stream for each in await client.list_streams(self.stream)))


@dataclass(frozen=True, slots=True)
class WatermarkOf:
    """The event time up to which a stream is complete, as a number of its writers' unit; None for a sealed stream.

    A stream without a watermark is complete up to a time before all others.
    """

    stream: StreamName

    def checker(self) -> Self:
        return self

    async def check(self, client: PravegaClient) -> int | None:
        try:
            last = await client.cut_at(self.stream, _LAST_TIME)
        except NoWatermarksError:
            return -_LAST_TIME
        return None if last.reach is Reach.COMPLETE else last.lower


@dataclass(frozen=True, slots=True)
class StateOfTransaction:
    """The state of a transaction of a stream."""

    stream: StreamName
    transaction: UUID

    def checker(self) -> Self:
        return self

    async def check(self, client: PravegaClient) -> TransactionState:
        return await client.attach_transaction(self.stream, self.transaction).state()


@dataclass(frozen=True, slots=True)
class GroupDescriptionOf:
    """The description of a reader group, with the positions of its readers; `stream` is the group's scope and name."""

    stream: StreamName

    def checker(self) -> Self:
        return self

    async def check(self, client: PravegaClient) -> ReaderGroupDescription:
        return await client.describe_reader_group(self.stream.scope, self.stream.stream)
