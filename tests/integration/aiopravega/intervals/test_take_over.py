"""Take-overs: the host of a claimant is asked, then its sinks, and only then the range changes hands."""

from datetime import timedelta
from typing import Any

import pytest

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import HalfDoneError, LedgerError
from aiopravega.intervals.chain.losses import OnTruncated
from aiopravega.intervals.chain.next_range import ChainRules, FormerName, NotNow, take_next
from aiopravega.intervals.chain.next_start import OnOpen
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import Claimant, ClaimantState, CutLedger, CutRecord, Interval, IntervalState, Sink
from pravega_jobs.identity.sinks import asking_sinks, declare_sink

ANA = Claimant(host="dagster", job="orders", run="ana", task="load")
BOB = Claimant(host="dagster", job="orders", run="bob", task="load")
NO_RULES = ChainRules()


@pytest.fixture
async def stream(make_stream):
    return await make_stream(2)


@pytest.fixture
async def ledger(client, stream):
    ledger = client.cut_ledger(stream.scope)
    await ledger.create()
    return ledger


@pytest.fixture
def take(client: PravegaClient, stream: StreamName, ledger: CutLedger):
    async def take(name: str, rules: ChainRules = NO_RULES, **more: Any) -> CutRecord | NotNow:
        async with client.writer(stream) as writer:
            await writer.write(b"event")
        watch = StreamWatch(MoveCondition())
        return await take_next(client, ledger, Interval("shop", stream, name), rules, watch, by=name, **more)

    return take


def says(state: ClaimantState, *done: str) -> ChainRules:
    """Rules by which the host says a state, and the sinks with these write ids are done."""

    async def judge(record: CutRecord) -> ClaimantState:
        assert record.claimant == ANA
        return state

    async def ask(sink: Sink, record: CutRecord) -> bool:
        assert record.claimant == ANA
        return sink.id in done

    return ChainRules(judge=judge, ask_sink=ask)


def sink(write_id: str) -> Sink:
    return Sink(kind="write", target="shop/out", id=write_id)


async def test_a_claimant_at_work_is_waited_for_and_the_wait_explains_itself(take):
    first = await take("first", claimant=ANA)

    found = await take("second", says(ClaimantState.RUNNING), claimant=BOB)

    assert isinstance(found, NotNow)
    assert (found.waits_for, found.state) == (first, ClaimantState.RUNNING)
    for part in ("'first'", "dagster run 'ana' of orders/load", "at work", "since", "Re-execute", "pravega cuts skip"):
        assert part in found.reason


@pytest.mark.parametrize("state", [ClaimantState.FAILED, ClaimantState.GONE])
async def test_the_range_of_a_claimant_that_ended_is_taken_over_at_once(take, ledger, state):
    first = await take("first", claimant=ANA)

    second = await take("second", says(state), claimant=BOB)

    assert isinstance(second, CutRecord)
    assert second.start == first.start
    assert second.claimant == BOB
    assert (await ledger.find(first.identity)).state is IntervalState.GIVEN_BACK


@pytest.mark.parametrize("state", [ClaimantState.FAILED, ClaimantState.DONE])
async def test_an_interval_whose_work_is_done_is_closed_and_followed(take, ledger, state):
    first = await take("first", claimant=ANA)
    await ledger.expect(first.identity, ["out"], claimant=ANA)
    await ledger.declare(first.identity, "out", sink("write of ana"))

    second = await take("second", says(state, "write of ana"), claimant=BOB)

    assert second.start == first.end
    assert (await ledger.find(first.identity)).is_done


async def test_a_claim_of_two_sinks_of_which_one_is_done_is_refused_by_name(take, ledger):
    first = await take("first", claimant=ANA)
    await ledger.expect(first.identity, ["left", "right"], claimant=ANA)
    await ledger.declare(first.identity, "left", sink("to the left"))

    with pytest.raises(HalfDoneError, match=r"left \(write 'to the left' into shop/out\) is done, and right is not"):
        await take("second", says(ClaimantState.FAILED, "to the left"))

    assert (await ledger.find(first.identity)).is_waiting


async def test_sinks_that_cannot_be_asked_are_not_guessed(take, ledger):
    first = await take("first", claimant=ANA)
    await ledger.declare(first.identity, "out", sink("write"))

    with pytest.raises(HalfDoneError, match="cannot be asked from here"):
        await take("second", ChainRules(judge=says(ClaimantState.GONE).judge))


async def test_a_sink_whose_stream_is_not_made_yet_has_nothing(client, stream, take, ledger):
    first = await take("first", claimant=ANA)
    await ledger.expect(first.identity, ["out"], claimant=ANA)
    unmade = Sink(kind="write", target=f"{stream.scope}/unmade", id="write of ana")
    await declare_sink(client, ledger, first.identity, "out", unmade)

    rules = ChainRules(judge=says(ClaimantState.FAILED).judge, ask_sink=asking_sinks(client))
    second = await take("second", rules, claimant=BOB)

    assert second.start == first.start


async def test_an_old_claimant_cannot_declare_a_sink_after_the_take_over(take, ledger):
    first = await take("first", claimant=ANA)
    await take("second", says(ClaimantState.FAILED))

    with pytest.raises(LedgerError, match=r"given back.*taken over by 'second'"):
        await ledger.declare(first.identity, "out", sink("write"))


async def test_a_sink_that_is_declared_while_others_are_asked_is_asked_too(take, ledger):
    first = await take("first", claimant=ANA)
    asked: list[str] = []

    async def judge(record: CutRecord) -> ClaimantState:
        if not record.parts:  # the claimant was not dead
            await ledger.declare(record.identity, "out", sink("late"))
        return ClaimantState.FAILED

    async def ask(sink: Sink, record: CutRecord) -> bool:
        assert record.part("out").sink == sink
        asked.append(sink.id)
        return True

    second = await take("second", ChainRules(judge=judge, ask_sink=ask))

    assert asked == ["late"]
    assert second.start == first.end


async def test_an_interval_is_done_when_all_its_parts_are(take, ledger):
    record = await take("first", claimant=ANA)
    await ledger.expect(record.identity, ["left", "right"], claimant=ANA)

    assert not (await ledger.finish(record.identity, record.range, part="left")).is_done
    assert not (await ledger.finish(record.identity, record.range, part="left")).is_done
    assert (await ledger.finish(record.identity, record.range, part="right")).is_done


async def test_another_claimant_begins_with_new_parts(take, ledger):
    record = await take("first", claimant=ANA)
    await ledger.expect(record.identity, ["left", "right"], claimant=ANA)
    await ledger.finish(record.identity, part="left")
    assert (await ledger.expect(record.identity, ["left", "right"], claimant=ANA)).part("left").done

    again = await ledger.expect(record.identity, ["left", "right"], claimant=BOB)

    assert again.claimant == BOB
    assert not any(part.done for part in again.parts)


@pytest.mark.parametrize("on_open", [OnOpen.WAIT, OnOpen.TAKE_OVER])
async def test_a_claimant_that_works_is_not_taken_over_however_long_it_takes(take, on_open):
    await take("first", claimant=ANA)
    rules = ChainRules(on_open=on_open, open_timeout=timedelta(), judge=says(ClaimantState.RUNNING).judge)
    assert isinstance(await take("second", rules), NotNow)


async def test_a_cleared_run_gets_a_range_of_a_stream_that_was_made_again(client, stream, take, ledger, make_stream):
    first = await take("first", claimant=ANA)
    await ledger.finish(first.identity)
    await client.delete_stream(stream)
    await make_stream(2)

    again = await take("first", ChainRules(on_truncated=OnTruncated.SKIP))

    assert again.range.start == await client.head(stream)
    assert again.range.end == await client.tail(stream)
    assert again.is_waiting
    await ledger.finish(again.identity, again.range)
    assert (await take("second")).start == again.end


async def test_a_record_under_a_former_name_is_taken_for_the_same_interval(take, stream):
    first = await take("2026-11-26T00:00:00+00:00")
    former = Interval("shop", stream, first.interval)

    same = await take("new name", former=FormerName(former, lambda record: record == first))
    assert same == first
    other = await take("new name", says_nothing(), former=FormerName(former, lambda record: record != first))
    assert isinstance(other, CutRecord)
    assert other.interval == "new name"


def says_nothing() -> ChainRules:
    return ChainRules(on_open=OnOpen.SKIP)
