"""In every order of messages and faults, up to a bound, both ledgers lose nothing, double nothing and can be completed.

The real code of the ledgers runs, with the real client of tables and the real calls to the controller; see
docs/explanation/model.md. What takes minutes is run by `make proofs`.
"""

import logging

import pytest
from tests.unit.aiopravega.ledger.model.claims import Claims
from tests.unit.aiopravega.ledger.model.clocks import set_clocks
from tests.unit.aiopravega.ledger.model.copies import Task
from tests.unit.aiopravega.ledger.model.intervals import Intervals, Role
from tests.unit.aiopravega.ledger.model.planted import PLANTED, PLANTED_DEEP, Planted
from tests.unit.aiopravega.ledger.model.retention import check_all
from tests.unit.aiopravega.ledger.model.retries import Retries
from tests.unit.aiopravega.ledger.model.scenario import Scenario
from tests.unit.aiopravega.ledger.model.search import search
from tests.unit.aiopravega.ledger.model.sinks import TABLE, Sinks
from tests.unit.aiopravega.ledger.model.writes import Writes

from aiopravega.ledger import ClaimantState

FINISH, TAKE_OVER, WAIT, CONTINUE, CLAIM = Role.FINISH, Role.TAKE_OVER, Role.WAIT, Role.CONTINUE, Role.CLAIM
MON, TUE = Task("A", "mon"), Task("B", "tue")
MON_AGAIN = MON._replace(again=True)
FIRST, SECOND = Task("A", "mon", "first", shares=True), Task("B", "mon", "second", shares=True)
GONE = ClaimantState.GONE

QUICK = [
    Writes("two drivers, two tasks", rows=2, faults=0),
    Writes("one driver, three tasks, a fault", drivers=1, rows=3, faults=1),
    Writes("one driver, one task, a fault, the stream is made again", drivers=1, rows=1, faults=1, again=True),
    Writes("a driver and a rebuild, one task", rows=1, faults=0, rebuild=True),
    Writes("a driver, and another write that finishes it, two tasks", drivers=1, rows=2, faults=0, other=True),
    Sinks("one driver, a task for each of two streams, a fault", drivers=1, rows=2, faults=1),
    Sinks("a write into two streams, and one to the second alone", drivers=1, rows=2, faults=0, alone=True),
    Sinks("one driver, two streams, the second one is made again", drivers=1, rows=2, faults=1, remade=True),
    Sinks("a write into two streams, finished by another one", drivers=1, rows=2, faults=0, other=True),
    Sinks("a write into two streams and a table, a fault", drivers=1, rows=2, faults=1, tables=(TABLE,)),
    Intervals("two claims of an interval", (("mon", CLAIM), ("mon", CLAIM)), faults=0),
    Intervals("an interval is taken over while its run wakes up", (("mon", FINISH), ("tue", TAKE_OVER)), ("mon",), 0),
    Claims("a run into two sinks", (MON,), faults=0),
    Claims("a run, a fault", (MON,), ("one",), loses_messages=True),
    Claims("the next run waits, or takes over from a run that dies", (MON, TUE), ("one",), taken=1),
    Claims("two jobs of one consumer and one date", (FIRST, SECOND), ("one",), faults=0),
    Claims("a run wakes up amid a take-over", (MON, TUE), ("one",), faults=0, taken=1, asleep=True, closed=True),
    Retries("a run whose try dies", older=False),
    Retries("a run after an older one with other rows", older=True),
]
LARGE = [
    Writes("one driver, one task, two faults, the stream is made again", drivers=1, rows=1, faults=2, again=True),
    Intervals("two claims of an interval, a fault", (("mon", CLAIM), ("mon", CLAIM)), faults=1),
    Writes("two drivers, three tasks", rows=3, faults=0),
    Writes("two drivers, two tasks, a fault", rows=2, faults=1),
    Writes("two drivers, two tasks, a fault, visibility waited for", rows=2, faults=1, waits=True),
    Writes("two drivers, three tasks, a fault", rows=3, faults=1, in_turn=True),
    Writes("two drivers, one task, two faults", rows=1, faults=2),
    Writes("two drivers, of which one has decided, two tasks, two faults", rows=2, faults=2, decided=True),
    Writes("two drivers, of which one has decided, three tasks, a fault", rows=3, decided=True, in_turn=True),
    Writes("three drivers, one task, a fault", drivers=3, rows=1, faults=1),
    Writes("two drivers, one task, a fault, the stream is made again", rows=1, faults=1, again=True),
    Writes("two drivers, two tasks that deal rows differently, a fault", rows=2, faults=1, dealt=True),
    Writes("two drivers, two tasks, a fault, transactions are forgotten", rows=2, faults=1, forgets=True),
    Writes("a driver and a rebuild, two tasks, a fault", rows=2, faults=1, rebuild=True),
    Writes("a driver, and another write that finishes it, two tasks, a fault", drivers=1, rows=2, faults=1, other=True),
    Writes("two drivers, and another write that finishes them, two tasks", rows=2, faults=0, other=True),
    Sinks("two drivers, two streams", rows=2, faults=0),
    Sinks("two drivers, two streams, a fault", rows=2, faults=1, in_turn=True),
    Sinks("two drivers, two streams, of which one has decided, a fault", rows=2, faults=1, decided=True),
    Sinks("a write into two streams, and one to the second alone, a fault", drivers=1, rows=2, faults=1, alone=True),
    Sinks("two drivers, two streams, and one to the second alone", rows=2, faults=0, alone=True),
    Sinks("one driver, two streams, the second made again, two faults", drivers=1, rows=2, faults=2, remade=True),
    Sinks("two drivers, two streams, the second one is made again", rows=2, faults=1, remade=True),
    Sinks("one driver, two streams, transactions are forgotten, two faults", drivers=1, rows=2, faults=2, forgets=True),
    Sinks("a driver and a rebuild, two streams", rows=2, faults=0, rebuild=True),
    Sinks("a write into two streams, finished by another one, a fault", drivers=1, rows=2, faults=1, other=True),
    Sinks("two drivers, two streams and a table", rows=2, faults=0, tables=(TABLE,)),
    Sinks("two drivers, two streams and a table, a fault", rows=2, faults=1, tables=(TABLE,), in_turn=True),
    Sinks("two streams and a table, finished by another one", drivers=1, rows=2, faults=1, tables=(TABLE,), other=True),
    Intervals("two runs of a chain", (("mon", WAIT), ("tue", TAKE_OVER)), faults=0),
    Intervals("two runs of an interval, a fault", (("mon", WAIT), ("mon", WAIT)), faults=1),
    Intervals("taken over while its run wakes up, a fault", (("mon", FINISH), ("tue", TAKE_OVER)), ("mon",), 1),
    Intervals("taken over while another run continues", (("tue", TAKE_OVER), ("wed", CONTINUE)), ("mon",), 0, True),
    Claims("a run into two sinks, two faults", (MON,), faults=2, loses_messages=True),
    Claims("the next run takes over two sinks from a run that dies", (MON, TUE), taken=1),
    Claims("the next run takes over from a run that its host has lost", (MON, TUE), taken=1, gives_up=GONE),
    Claims("the next run takes over, messages are lost", (MON, TUE), ("one",), taken=1, loses_messages=True),
    Claims("the next run takes over from a run that wakes up", (MON, TUE), ("one",), taken=1, wakes_up=True),
    Claims("a run wakes up while the next one takes over", (MON, TUE), ("one",), faults=0, taken=1, asleep=True),
    Claims("a run into two sinks wakes up while the next one takes over", (MON, TUE), faults=0, taken=1, asleep=True),
    Claims("a run is run again amid a take-over", (MON_AGAIN, TUE), ("one",), faults=0, died=(MON,), closed=True),
    Claims("a run is run again while the next one takes over", (MON_AGAIN, TUE), ("one",), faults=0, died=(MON,)),
    Claims("two runs of a chain into two sinks, one dies", (MON, TUE)),
    Claims("two jobs of one consumer and one date, one dies", (FIRST, SECOND), ("one",)),
]


@pytest.fixture(autouse=True)
def _clocks(monkeypatch: pytest.MonkeyPatch):
    set_clocks(monkeypatch)
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def _named(scenario: object) -> str:
    return scenario.words if isinstance(scenario, Planted) else str(getattr(scenario, "name", ""))


@pytest.mark.parametrize("scenario", QUICK, ids=_named)
def test_nothing_is_lost_or_doubled_and_all_can_be_completed(scenario: Scenario):
    counts = search(scenario)

    print(f"\n{scenario.name}: {counts.text}")
    assert counts.ends


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("scenario", LARGE, ids=_named)
def test_nothing_is_lost_or_doubled_in_a_larger_search(scenario: Scenario):
    counts = search(scenario)

    print(f"\n{scenario.name}: {counts.text}")
    assert counts.ends


def test_no_clock_alone_makes_a_ledger_forget():
    assert check_all() == 2 * 3 * 11


@pytest.mark.parametrize(
    "planted", [*PLANTED, *(pytest.param(deep, marks=pytest.mark.slow) for deep in PLANTED_DEEP)], ids=_named
)
def test_a_planted_mistake_is_found(planted: Planted, monkeypatch: pytest.MonkeyPatch):
    planted.plant(monkeypatch)

    with pytest.raises(AssertionError, match=planted.found):
        planted.look()
