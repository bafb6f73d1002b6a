"""Commits that are decided are waited for, and asked for again if the controller forgets them."""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.unit.aiopravega.ledger.model.clocks import set_clocks
from tests.unit.aiopravega.ledger.model.machine import Process
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server
from tests.unit.aiopravega.ledger.model.sinks import SECOND
from tests.unit.aiopravega.ledger.model.writes import SINK

from aiopravega.control.convert import uuid_of
from aiopravega.ledger.commits.transactions import TransactionSet


@pytest.fixture(autouse=True)
def _clocks(monkeypatch: pytest.MonkeyPatch):
    set_clocks(monkeypatch)


@dataclass
class Forgetful(Server):
    """A controller that accepts a commit and does it when it is asked for again; a question takes a second."""

    asked: int = 0

    def call(self, method: str, request: Any, new_id: Any, *, slow: bool = False) -> Any:
        if method == "checkTransactionState":
            self.time += 1.0
        return super().call(method, request, new_id, slow=slow)

    def _end(self, request: Any, wanted: str) -> str:
        self.asked += 1
        held = self._asked(request)
        if held is not None and held.stream == SECOND.stream:
            is_first = held.state == "OPEN"
            self.transactions[uuid_of(request.txnId)] = held._replace(state="COMMITTING" if is_first else "OPEN")
            if is_first:
                return "SUCCESS"
        return super()._end(request, wanted)


def waited(limit: float) -> tuple[Any, Forgetful]:
    server = Forgetful()

    async def main(process: Process) -> int:
        made = [(await process.controller.create_transaction(stream, 60_000))[0] for stream in (SINK, SECOND)]
        transactions = TransactionSet(process.controller, SINK, dict(enumerate(made)), {1: SECOND})
        assert await transactions.commit()
        return await transactions.wait_visible(limit, poll=1.0)

    return run_to_end(server, Process("the only one", server, main)), server


def test_a_commit_that_the_controller_forgot_is_asked_for_again():
    left, server = waited(limit=60.0)

    assert left == 0
    assert server.asked == 3
    assert {held.state for held in server.transactions.values()} == {"COMMITTED"}


def test_a_commit_is_asked_for_once_in_the_first_seconds():
    left, server = waited(limit=3.0)

    assert (left, server.asked) == (1, 2)
