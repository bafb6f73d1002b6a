"""Processes that run the real code, each on a loop of its own, and stop wherever they wait for a server's answer.

A process has a clock, connections that lead to nobody, and a list of what it has asked. The search decides when
each question arrives, and whether its answer does.
"""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from tests.unit.aiopravega.ledger.model.loop import Loop
from tests.unit.aiopravega.ledger.model.server import RefusedError, Server

from aiopravega import PravegaClient, PravegaConfig, wire
from aiopravega.control import Controller
from aiopravega.control.convert import uuid_of
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import CallSite, rpc_error
from aiopravega.errors import PravegaError, PravegaTimeoutError
from aiopravega.ledger.commits.keys import NOTE_PREFIX, PENDING_PREFIX
from aiopravega.ledger.stored_json import object_in
from aiopravega.store import SegmentStore

_CONFIG: Final = PravegaConfig(controller_uri="tcp://nowhere:1", scope="examples")
# They change the notes that others may look for.
NOTES: Final = frozenset({"UpdateTableEntries of notes", "RemoveTableKeys of notes"})
# They change what others can see.
_CHANGES: Final = NOTES | {"commitTransaction", "abortTransaction", "UpdateTableEntries", "RemoveTableKeys"}
# Their answers never change, or are nobody else's business: only who opens a transaction knows it until it decides.
INSTANT: Final = frozenset(
    {
        "getURI",
        "createKeyValueTable",
        "getKeyValueTableConfiguration",
        "getCurrentSegmentsKeyValueTable",
        "getEpochSegments",
        "createTransaction",
        "ReadTableKeys",
        "getCurrentSegments",
        "GetStreamSegmentInfo",
    }
)


@dataclass
class Question:
    """What a process waits for; `name` is unique in the process, in whatever order they come."""

    name: str
    about: str
    ask: Callable[[Server, bool], Any]
    future: "asyncio.Future[Any]"
    txn: UUID | None = None  # what it is about, if that is a transaction
    values: tuple[bytes, ...] = ()  # what it puts into a table

    @property
    def changes(self) -> bool:
        return self.about in _CHANGES

    @property
    def words(self) -> str:
        """The change, for people."""
        records = [record for record in map(object_in, self.values) if record]
        return ", ".join([self.about, *(_described(record) for record in records)])


def _described(record: dict[str, Any]) -> str:
    """A record of a ledger, by its name, its state, and the parts of a claim."""
    parts = ", ".join(part["name"] + (" done" if part.get("done") else "") for part in record.get("parts", ()))
    name = record.get("interval") or record.get("write_id")
    return f"{name!r} is {record.get('state', 'open')}" + (f" ({parts})" if parts else "")


class Process:
    """One process of a machine, whose clock is `ahead` by so many seconds."""

    def __init__(
        self,
        name: str,
        server: Server,
        main: Callable[["Process"], Coroutine[Any, Any, Any]],
        ahead: float = 0.0,
        instant: frozenset[str] = INSTANT,
    ) -> None:
        self.name = name
        self.server = server
        self.ahead = ahead
        self.questions: dict[str, Question] = {}
        self.heard = 0
        self.has_seen_tail = False
        self._instant = instant
        self._asked: defaultdict[str, int] = defaultdict(int)
        self._made = 0
        self._loop = Loop()  # type: ignore[abstract]  # what needs sockets, threads or signals is not asked for
        self.controller = Controller(_CONFIG)
        self.controller._rpc = _Calls(self)
        self.store = SegmentStore(_CONFIG, self.controller)
        self.store._pool = _Pool(self)  # type: ignore[assignment]  # all connections lead to the search
        Clock.process = self
        self._main = self._loop.create_task(main(self))
        self.run()

    def run(self) -> None:
        Clock.process = self
        self._loop.run()

    @cached_property
    def client(self) -> PravegaClient:
        """A client whose questions are this process's."""
        made = PravegaClient(_CONFIG)
        made.controller._rpc = self.controller._rpc
        made.store._pool = self.store._pool
        return made

    @property
    def ended(self) -> bool:
        return self._main.done()

    @property
    def result(self) -> Any:
        """What it has returned, or the error with which it has ended.

        Raises:
            BaseException: it has ended with an error that is not one of ours.
        """
        error = self._main.exception()
        if error is None:
            return self._main.result()
        if isinstance(error, PravegaError):
            return error
        raise error

    def new_id(self) -> UUID:
        self._made += 1
        return UUID(bytes=hashlib.md5(f"{self.name} {self._made}".encode()).digest())

    def next_questions(self, in_turn: bool) -> list[Question]:
        """The questions that may arrive next: all, or only the first and the last of those that are asked at once."""
        known = list(self.questions.values())
        return [known[0], known[-1]] if in_turn and len(known) > 2 else known

    @property
    def first_question(self) -> Question:
        return next(iter(self.questions.values()))

    async def ask(
        self,
        about: str,
        ask: Callable[[Server, bool], Any],
        txn: UUID | None = None,
        values: tuple[bytes, ...] = (),
    ) -> Any:
        if about in self._instant:
            return ask(self.server, False)
        task = asyncio.current_task(self._loop)
        above = task.get_name() if task else ""
        self._asked[above] += 1
        question = Question(f"{above} {self._asked[above]}", about, ask, self._loop.create_future(), txn, values)
        self.questions[question.name] = question
        return await question.future

    def hear(self, question: Question, answer: Any, spelled: object) -> None:
        """Have an answer, or an error, come back; `spelled` is unique among all answers."""
        del self.questions[question.name]
        # Of questions that are asked at once, the order of the answers makes no difference to what comes next.
        self.heard ^= hash((question.name, spelled))
        if isinstance(answer, Exception):
            question.future.set_exception(answer)
        else:
            question.future.set_result(answer)
        self.run()

    def lose(self, question: Question, *, again: bool) -> None:
        """Have no answer come back; the process gives up then, unless it tries `again`."""
        error = PravegaTimeoutError(f"no answer to {question.about}")
        error.retryable = again
        self.hear(question, error, again)


class _Calls(Rpc):
    """The controller's calls, with the time limits, repetitions and errors of the real ones."""

    def __init__(self, process: Process) -> None:
        super().__init__(_CONFIG)
        self._process = process

    async def _attempt(self, request: Any, answer: Any, site: CallSite, ends: float) -> Any:
        def ask(server: Server, slow: bool) -> Any:
            try:
                return server.call(site.method, request, self._process.new_id, slow=slow)
            except RefusedError as error:
                return rpc_error(error.code, str(error), site)

        txn = uuid_of(request.txnId) if hasattr(request, "txnId") else None
        found = await self._process.ask(site.method, ask, txn)
        if isinstance(found, PravegaError):
            raise found
        return found


class _Pool:
    """One connection, to every segment store."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def get(self, endpoint: object) -> "_Pool":
        return self

    def next_request_id(self) -> int:
        return 1

    async def request(self, command: wire.Request, timeout: float) -> wire.Reply:
        about = type(command).__name__
        keys: list[wire.TableKey] = []
        values: tuple[bytes, ...] = ()
        if isinstance(command, wire.UpdateTableEntries):
            values, keys = tuple(value for _, value in command.entries), [key for key, _ in command.entries]
        elif isinstance(command, wire.RemoveTableKeys):
            keys = list(command.keys)
        if keys and all(key.data.startswith((NOTE_PREFIX, PENDING_PREFIX)) for key in keys):
            about += " of notes"
        reply: wire.Reply = await self._process.ask(about, lambda server, _: server.command(command), values=values)
        return reply


class Clock(datetime):
    """The clocks of the machine of the process that runs: as the modules `time` and `datetime` have them."""

    process: Process

    @classmethod
    def time(cls) -> float:  # type: ignore[override]  # of the module `time`
        return cls.process.server.time + cls.process.ahead

    @classmethod
    def monotonic(cls) -> float:
        return cls.process.server.time

    @classmethod
    def now(cls, tz: tzinfo | None = UTC) -> datetime:  # type: ignore[override]  # no subclass
        return datetime.fromtimestamp(cls.time(), tz)
