"""Mistakes in the real code that the search must find: each changes one rule, and names it."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from tests.unit.aiopravega.ledger.model import planted_claims, planted_cuts, planted_writes
from tests.unit.aiopravega.ledger.model.claims import Claims
from tests.unit.aiopravega.ledger.model.copies import Task
from tests.unit.aiopravega.ledger.model.intervals import Intervals, Role
from tests.unit.aiopravega.ledger.model.retention import check_all
from tests.unit.aiopravega.ledger.model.retries import Retries
from tests.unit.aiopravega.ledger.model.scenario import Scenario
from tests.unit.aiopravega.ledger.model.search import search
from tests.unit.aiopravega.ledger.model.sinks import TABLE, Sinks
from tests.unit.aiopravega.ledger.model.writes import Writes


class Planted(NamedTuple):
    """A mistake, the smallest scenario that shows it, and what it does."""

    words: str
    plant: Callable[[pytest.MonkeyPatch], None]
    scenario: Scenario | Callable[[], object]
    found: str

    def look(self) -> None:
        """Search for it.

        Raises:
            AssertionError: it is found.
        """
        if isinstance(self.scenario, Scenario):
            search(self.scenario)
        else:
            self.scenario()


_TWO = Writes("two drivers", rows=2, faults=0)
_TWO_AND_A_FAULT = Writes("two drivers, a fault", rows=2, faults=1)
_TAKES_OVER = Intervals(
    "an interval is taken over while its run wakes up", (("mon", Role.FINISH), ("tue", Role.TAKE_OVER)), ("mon",), 0
)
_MON = Task("A", "mon")
_ALONE = Claims("a run into two sinks", (_MON,), faults=0)
_CHAIN = Intervals("two runs of a chain", (("mon", Role.CONTINUE), ("tue", Role.CONTINUE)), faults=0)

PLANTED = [
    Planted("the record is put without a condition", planted_writes.puts_without_a_condition, _TWO, "doubled"),
    Planted(
        "a conflict counts as one's own success", planted_writes.takes_a_conflict_for_its_own_success, _TWO, "doubled"
    ),
    Planted(
        "incarnations are not compared",
        planted_writes.does_not_compare_incarnations,
        Writes("the stream is made again", drivers=1, rows=1, faults=1, again=True),
        "recovered",
    ),
    Planted(
        "a part counts as nothing", planted_writes.takes_a_partial_write_for_a_lost_one, _TWO_AND_A_FAULT, "doubled"
    ),
    Planted("done is put before the commits", planted_writes.is_done_before_it_commits, _TWO, "recovered"),
    Planted("prepared counts as done", planted_writes.takes_prepared_for_done, _TWO, "recovered"),
    Planted("what is prepared is written again", planted_writes.writes_again_what_is_prepared, _TWO, "doubled"),
    Planted(
        "a generation is followed before it is done",
        planted_writes.rebuilds_what_is_not_done,
        Writes("a driver and a rebuild", rows=1, faults=0, rebuild=True),
        "recovered|afterwards",
    ),
    Planted(
        "a write that another one finishes is put as done only",
        planted_writes.finishes_others_by_their_record_alone,
        Writes("another write finishes a decided one", drivers=1, rows=1, faults=0, other=True),
        "recovered",
    ),
    Planted(
        "what the controller forgot counts as lost",
        planted_writes.takes_what_nobody_knows_for_lost,
        Writes("forgotten", drivers=1, rows=1, faults=1, forgets=True),
        "doubled",
    ),
    Planted(
        "after a conflict the new version is replaced",
        planted_writes.replaces_what_it_does_not_read_again,
        _TWO,
        "doubled",
    ),
    Planted(
        "a write into two streams does not mark the second one",
        planted_writes.does_not_mark_the_second_stream,
        Sinks("a write into both, and one to the second alone", drivers=1, rows=2, faults=0, alone=True),
        "but alone",
    ),
    Planted(
        "the second stream is marked after the decision",
        planted_writes.marks_the_second_stream_after_the_decision,
        Sinks("a write into both, and one to the second alone", drivers=1, rows=2, faults=0, alone=True),
        "but alone",
    ),
    Planted(
        "the mark of the second stream replaces what is there",
        planted_writes.replaces_what_another_write_has_put,
        Sinks("a write into both, and one to the second alone", drivers=1, rows=2, faults=0, alone=True),
        "doubled",
    ),
    Planted(
        "a completion commits the first stream only",
        planted_writes.commits_the_first_stream_only,
        Sinks("a write into both", drivers=1, rows=2, faults=0),
        "recovered",
    ),
    Planted(
        "done counts for the tables as well",
        planted_writes.takes_done_for_landed,
        Sinks("a write into both and a table", drivers=1, rows=2, faults=0, tables=(TABLE,)),
        "the record says that the table has its rows",
    ),
    Planted(
        "the record does not name its tables",
        planted_writes.forgets_the_tables_of_a_write,
        Sinks("a write into both and a table", drivers=1, rows=2, faults=0, tables=(TABLE,)),
        "the table lacks its rows",
    ),
    Planted(
        "a record expires by the machine's clock",
        planted_writes.expires_by_the_machines_clock,
        check_all,
        "before its time",
    ),
    Planted(
        "a record expires by the store's clock",
        planted_writes.expires_by_the_stores_clock,
        check_all,
        "before its time",
    ),
    Planted("ranges are put without a condition", planted_cuts.records_a_range_without_a_condition, _CHAIN, "doubled"),
    Planted(
        "a claim that met another one is not read again",
        planted_cuts.claims_without_reading_again,
        Intervals("two claims", (("mon", Role.CLAIM), ("mon", Role.CLAIM)), faults=0),
        "mon cannot be completed",
    ),
    Planted(
        "a range that was given back can be done",
        planted_cuts.finishes_whatever_has_become_of_the_range,
        _TAKES_OVER,
        "doubled",
    ),
    Planted(
        "an interval is done after the first of two outputs",
        planted_claims.is_done_after_its_first_output,
        _ALONE,
        "in two: event 0 is lost",
    ),
    Planted(
        "sinks are not asked before a take-over",
        planted_claims.takes_over_without_asking_sinks,
        _ALONE,
        "in one: event 0 is doubled",
    ),
    Planted(
        "sinks are asked and stay open",
        planted_claims.asks_sinks_and_leaves_them_open,
        Claims("the next run takes over", (_MON, Task("B", "tue")), ("one",), taken=1),
        "event 0 is doubled",
    ),
    Planted(
        "a further try accepts what it finds",
        planted_claims.accepts_what_a_further_try_finds,
        Retries("a run after an older one", older=True),
        "lost",
    ),
    Planted(
        "two claimants of one date have one interval",
        planted_claims.gives_two_claimants_of_a_date_one_interval,
        Claims(
            "two jobs of one consumer and one date",
            (Task("A", "mon", "first", shares=True), Task("B", "mon", "second", shares=True)),
            ("one",),
            faults=0,
        ),
        "doubled",
    ),
    Planted(
        "a write is opened after its sink is declared",
        planted_claims.opens_a_write_after_its_sink_is_declared,
        Claims("a run wakes up", (_MON, Task("B", "tue")), ("one",), faults=0, taken=1, asleep=True, closed=True),
        "doubled",
    ),
    Planted(
        "a range is taken over from a try that was not judged",
        planted_claims.takes_over_from_a_try_that_it_has_not_judged,
        Claims(
            "a run is run again",
            (_MON._replace(again=True), Task("B", "tue")),
            ("one",),
            faults=0,
            died=(_MON,),
            closed=True,
        ),
        "doubled",
    ),
]
# What takes longer to find.
PLANTED_DEEP = [
    Planted(
        "a part is completed by other rows",
        planted_writes.completes_without_comparing_rows,
        Writes("other rows", rows=2, faults=1, dealt=True),
        "doubled",
    ),
    Planted(
        "the rest of a lost write stays open",
        planted_writes.leaves_the_rest_of_a_lost_write_open,
        Writes("a decided write, a fault", rows=2, faults=1, decided=True),
        "doubled",
    ),
    Planted(
        "the rest of a part is not committed",
        planted_writes.leaves_the_rest_of_a_part_uncommitted,
        Writes("a decided write of three tasks, a fault", rows=3, faults=1, decided=True, in_turn=True),
        "says that it is done",
    ),
    Planted(
        "a range is given back in two steps",
        planted_cuts.gives_back_in_two_steps,
        Intervals(
            "taken over while another run continues",
            (("tue", Role.TAKE_OVER), ("wed", Role.CONTINUE)),
            ("mon",),
            faults=0,
            chosen=True,
        ),
        "lost at 0",
    ),
]
