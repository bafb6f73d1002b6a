"""The maintenance of a commit ledger by tasks of a real Airflow."""

from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

import pytest

from aiopravega import UNBOUNDED, StreamCutRange
from airflow_pravega.operators.ledger import PravegaLedgerMaintenanceOperator


@pytest.fixture
def contents(client, stream):
    """The events of the stream."""
    return lambda: sorted(event.data for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream))


@pytest.fixture
def maintain(run_task, scope):
    """Runs the operator for the ledger of the test's scope, which is named by a template."""
    named = f"{{{{ '{scope}'.strip() }}}}"
    return lambda **arguments: run_task(partial(PravegaLedgerMaintenanceOperator, ledger=named, **arguments))


def test_writes_of_dead_drivers_are_finished_and_only_once(maintain, leave_decided, stream, scope, contents):
    leave_decided(stream, b"a", b"b", write_id="first", committed=[1])
    leave_decided(stream, b"c", write_id="second")
    names = {f"write '{write_id}' to {stream}" for write_id in ("first", "second")}

    first = maintain().result()

    assert set(first["finished"]) == names
    assert contents() == [b"a", b"b", b"c"]
    nothing = {"finished": [], "lost": [], "half_visible": [], "failed": [], "expired": 0}
    assert maintain().result() == {"ledger": f"{scope}/commit-ledger", **nothing}


def test_a_half_visible_write_fails_the_task_after_finishing_the_others(maintain, leave_decided, stream, contents):
    leave_decided(stream, b"a", b"b", write_id="half", committed=[0], lost=1)
    leave_decided(stream, b"c", write_id="whole")

    run = maintain()

    assert run.state() == "failed"
    assert run.tries() == 1
    assert contents() == [b"a", b"c"]
    (half,) = maintain(fail_on_half_visible=False).result()["half_visible"]
    assert half.startswith(f"write 'half' to {stream} is partial: start the write again")


def test_an_invisible_write_that_lost_a_part_is_named_as_lost(maintain, leave_decided, stream, contents):
    leave_decided(stream, b"a", b"b", write_id="lost", lost=1)

    assert maintain().result()["lost"] == [f"write 'lost' to {stream}"]
    assert contents() == []


def test_old_records_are_removed_if_that_is_wanted(maintain, client, stream, scope):
    ledger = client.commit_ledger(scope)
    ledger.create()

    def commit(write_id: str, retain: float) -> None:
        job = ledger.protocol().begin(stream, write_id, uuid4())
        ledger.protocol(retain=retain).commit(job, [], datetime.now(UTC))

    def old() -> list[str]:
        return [stored.record.write_id for stored in ledger.records() if stored.record.write_id.startswith("old")]

    for number in range(20):
        commit(f"old {number}", 0.001)
        commit(f"young {number}", 1000.0)
        if old():  # one write in eight removes old records itself
            break

    assert len(old()) == 1
    assert maintain().result()["expired"] == 0
    assert maintain(expire=True).result()["expired"] == 1
    assert old() == []
    assert ledger.records()


def test_a_ledger_that_is_not_there_fails_the_task_for_good(run_task, scope):
    run = run_task(partial(PravegaLedgerMaintenanceOperator, ledger=f"{scope}/no-such-ledger"))

    assert run.state() == "failed"
    assert run.tries() == 1


def test_a_cluster_that_is_not_there_is_tried_again(run_task, nobody, scope):
    run = run_task(partial(PravegaLedgerMaintenanceOperator, ledger=scope, pravega_conn_id=nobody))

    assert run.state() == "failed"
    assert run.tries() == 2
