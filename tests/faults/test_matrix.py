"""Whatever dies at whatever moment, readers see each row once, in order per key; or the job stops and says why."""

from collections.abc import Iterator

import pytest
from tests.faults.case import Case
from tests.faults.matrix import QUICK, ROUNDS
from tests.faults.rounds import Round

# The first case of a round waits for all of it: two Sparks and perhaps five servers, on a busy machine.
pytestmark = pytest.mark.timeout(2400)


def cases() -> Iterator[object]:
    for found in ROUNDS:
        together = pytest.mark.xdist_group(f"faults-{found.name}")
        for case in found.cases:
            yield pytest.param(found, case, id=case.name, marks=[together, *_slow(case)])


def _slow(case: Case) -> list[pytest.MarkDecorator]:
    return [] if case.name in QUICK else [pytest.mark.slow]


@pytest.mark.parametrize(("at", "case"), list(cases()))
def test_every_row_is_read_once_by_the_official_client(outcome, at: Round, case: Case):
    result = outcome(at, case)

    assert result.ended == case.ending
    assert (result.doubled, result.strange, result.disordered) == (0, 0, 0)
    assert result.lost == 0 or case.withholds
