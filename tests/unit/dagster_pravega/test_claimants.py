"""The states of claimants, by the runs and steps of a real instance of Dagster, and the runs that a run repeats."""

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.ledger import Claimant, ClaimantState, CutRecord, Interval, Part
from aiopravega.names import SegmentId
from dagster_pravega.metadata.ranges import repeated_runs
from dagster_pravega.partitions.claimants import state_of_claimant

STREAM = StreamName("shop", "orders")
RETRIED = {"dagster/will_retry": "true"}


@dg.op
def copy(context):
    if context.run.tags.get("fails"):
        raise RuntimeError("the disk is full")


@dg.op(ins={"after": dg.In(dg.Nothing)})
def report(context):
    if context.run.tags.get("report_fails"):
        raise RuntimeError("the disk is full")


@dg.job(executor_def=dg.in_process_executor)
def copies():
    report(copy())


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def make_run(instance):
    """Makes a run that has not begun; `of` is a run that it repeats."""

    def make_run(of=None, **tags):
        if of is None:
            return instance.create_run_for_job(copies, tags=tags)
        root = of.root_run_id or of.run_id
        lineage = {"dagster/root_run_id": root, "dagster/parent_run_id": of.run_id}
        return instance.create_run_for_job(copies, tags=tags | lineage, root_run_id=root, parent_run_id=of.run_id)

    return make_run


@pytest.fixture
def run(instance, make_run):
    def run(of=None, **tags):
        made = make_run(of, **tags)
        execute_run(InMemoryJob(copies), made, instance, raise_on_error=False)
        return instance.get_run_by_id(made.run_id)

    return run


@pytest.fixture
def state(instance):
    """The state of the claimant of an interval: a step of a run, or, without a step, the run with these parts."""

    def state(run, step="copy", interval="any", by="dagster run", host="dagster", parts=()):
        ends = (StreamCut(STREAM, {SegmentId(STREAM, 0, 0): offset}) for offset in (0, 9))
        claimant = (
            None if run is None else Claimant(host=host, job="copies", run=getattr(run, "run_id", run), task=step)
        )
        record = CutRecord.new(Interval("c", STREAM, interval), StreamCutRange(*ends), by=by, number=1)
        parts = tuple(Part(name=part) for part in parts)
        return state_of_claimant(instance, record.model_copy(update={"claimant": claimant, "parts": parts}))

    return state


def test_a_step_decides_whatever_its_run_did(run, state):
    failed = run(report_fails="yes")
    assert (state(failed), state(failed, "report")) == (ClaimantState.DONE, ClaimantState.FAILED)
    assert state(failed, "", parts=["copy.result"]) is ClaimantState.DONE
    assert state(failed, "", parts=["copy.result", "report.result"]) is ClaimantState.FAILED
    run(failed)
    assert state(failed, "report") is ClaimantState.DONE


def test_a_run_that_is_to_be_retried_or_has_not_begun_is_at_work(instance, run, make_run, state):
    failed = run(fails="yes")
    assert state(failed) is ClaimantState.FAILED
    waiting = make_run(failed)
    assert state(failed) is ClaimantState.RUNNING
    instance.delete_run(waiting.run_id)
    assert state(failed) is ClaimantState.FAILED
    instance.add_run_tags(failed.run_id, RETRIED)
    assert state(failed) is ClaimantState.RUNNING


def test_a_deleted_run_is_gone_and_one_of_elsewhere_is_not_known(instance, run, state):
    gone = run()
    instance.delete_run(gone.run_id)
    assert state(gone) is ClaimantState.GONE
    assert state(gone, by="dagster run of another-instance") is ClaimantState.UNKNOWN
    assert state("manual__2026", host="airflow") is ClaimantState.UNKNOWN
    assert state(None, interval="a partition") is ClaimantState.UNKNOWN


def test_records_of_earlier_releases_name_a_run_or_a_partition(run, state):
    done, failed = run(), run(fails="yes")
    assert state(None, interval=f"run {done.run_id}") is ClaimantState.DONE
    assert state(None, interval=f"run {failed.run_id}") is ClaimantState.FAILED
    of_sensor = {"dagster/partition": "p1", "pravega/stream": "shop/orders", "pravega/consumer": "c"}
    run(fails="yes", **of_sensor)
    assert state(None, interval="p1") is ClaimantState.FAILED
    run(**of_sensor)
    assert state(None, interval="p1") is ClaimantState.DONE


def test_a_run_repeats_its_parents_up_to_the_root(instance, run):
    first = run(fails="yes")
    second = run(first, fails="yes")
    third = run(second)
    assert repeated_runs(instance, third) == [third.run_id, second.run_id, first.run_id]
    instance.delete_run(second.run_id)
    assert repeated_runs(instance, third) == [third.run_id, first.run_id]
