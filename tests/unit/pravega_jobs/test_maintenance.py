"""How a ledger to be maintained is named, and what a report of its maintenance makes of itself."""

import pytest

from aiopravega import PravegaConfig
from aiopravega.errors import ConfigurationError, PartialCommitError, PravegaTimeoutError
from aiopravega.ledger import DEFAULT_TABLE
from pravega_jobs.maintenance import LedgerReport, named_ledger


@pytest.mark.parametrize(
    ("text", "scope", "named"),
    [
        ("shop/writes", "examples", ("shop", "writes")),
        ("shop", "examples", ("shop", DEFAULT_TABLE)),
        (None, "examples", ("examples", DEFAULT_TABLE)),
    ],
)
def test_a_ledger_is_named_by_scope_and_table_or_by_its_scope(text, scope, named):
    assert named_ledger(text, PravegaConfig(scope=scope)) == named


@pytest.mark.parametrize("text", [None, "", "shop/", "shop/a/b"])
def test_what_names_no_ledger_is_refused(text):
    with pytest.raises(ConfigurationError):
        named_ledger(text, PravegaConfig(scope=None))


def test_a_report_of_writes_that_are_finished_or_lost_is_fine():
    LedgerReport("shop/writes", finished=("write 'a'",), lost=("write 'b'",), expired=3).check()


def test_what_failed_can_be_tried_again_and_comes_before_what_cannot():
    with pytest.raises(PravegaTimeoutError, match="write 'a': no answer") as raised:
        LedgerReport("shop/writes", failed=("write 'a': no answer",), half_visible=("write 'b'",)).check()
    assert raised.value.retryable


def test_what_is_half_visible_is_an_error_that_names_it():
    with pytest.raises(PartialCommitError, match="shop/writes: writes are half visible: write 'b'"):
        LedgerReport("shop/writes", half_visible=("write 'b'",)).check()
