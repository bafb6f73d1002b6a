"""A stream knows its ledger: another one, or one that was emptied, is an error and no second write."""

import asyncio
import uuid
from dataclasses import replace

import pytest

from aiopravega import ScalingPolicy
from aiopravega.commands.main import main
from aiopravega.errors import StreamNotFoundError, WrongLedgerError
from aiopravega.ledger.commits.stream_mark import tag_of
from aiopravega.names import StreamName


@pytest.fixture
def tags(client, sink):
    async def tags() -> tuple[str, ...]:
        configuration = await client.controller.stream_configuration(sink)
        found: tuple[str, ...] = configuration.tags
        return found

    return tags


async def test_a_stream_is_marked_once_and_keeps_its_other_tags(client, scope, ledger):
    sink = StreamName(scope, "tagged")
    await client.create_stream(sink, tags=["mine"])

    await asyncio.gather(*(ledger.mark(sink) for _ in range(3)))
    await ledger.mark(sink)

    mine, mark = sorted((await client.controller.stream_configuration(sink)).tags, reverse=True)
    assert mine == "mine"
    assert mark.startswith("commit-ledger=")
    assert mark.endswith(f"={scope}/{ledger.table}")


@pytest.mark.parametrize(
    ("made", "scaled", "kept"),
    [
        (ScalingPolicy.fixed(1), 3, ScalingPolicy.fixed(3)),
        (ScalingPolicy.fixed(2), 2, ScalingPolicy.fixed(2)),
        (ScalingPolicy.by_event_rate(1000, 2, 1), 2, ScalingPolicy.by_event_rate(1000, 2, 1)),
    ],
)
async def test_a_mark_scales_no_stream(client, scope, ledger, made, scaled, kept):
    sink = StreamName(scope, "scaled")
    await client.create_stream(sink, made)
    await client.scale_stream(sink, scaled)
    before = await client.controller.current_segments(sink)

    await ledger.mark(sink)

    assert await client.controller.current_segments(sink) == before
    assert (await client.controller.stream_configuration(sink)).scaling == kept


async def test_a_mark_is_no_record(driver, ledger):
    await ledger.mark(driver.sink)
    await driver.protocol.commit(await driver.start(), await driver.write(b"a"))

    assert [stored.record.write_id async for stored in ledger.records()] == ["daily"]


async def test_another_ledger_is_an_error_that_names_the_first(client, scope, ledger, sink, tags):
    await ledger.mark(sink)
    before = await tags()
    other = client.commit_ledger(scope, "other")
    await other.create()

    with pytest.raises(
        WrongLedgerError, match=f"remembered by the ledger {scope}/{ledger.table}, but .* {scope}/other"
    ):
        await other.mark(sink)

    assert await tags() == before


async def test_a_ledger_that_was_deleted_and_made_again_is_an_error(client, ledger, sink):
    await ledger.mark(sink)
    assert await client.controller.delete_table(ledger.scope, ledger.table)
    again = client.commit_ledger(ledger.scope, ledger.table)
    await again.create()

    with pytest.raises(WrongLedgerError, match=r"was deleted, or emptied, .*pravega ledger adopt"):
        await again.mark(sink)


async def test_a_ledger_that_was_emptied_is_an_error(client, ledger, sink):
    await ledger.mark(sink)
    table = client.table(ledger.scope, ledger.table)
    await table.remove_all([entry.key async for entry in table.entries()])

    with pytest.raises(WrongLedgerError, match="emptied"):
        await ledger.mark(sink)


async def test_a_person_can_have_another_ledger_adopt_a_stream(client, scope, ledger, sink, pravega_config, capsys):
    await ledger.mark(sink)
    where = ["--controller", pravega_config.controller_uri]

    code = await asyncio.to_thread(main, ["ledger", "adopt", str(sink), "--ledger", f"{scope}/other", "--yes", *where])

    assert (code, f"remembered by {scope}/other from now on" in capsys.readouterr().out) == (0, True)
    await client.commit_ledger(scope, "other").mark(sink)
    with pytest.raises(WrongLedgerError):
        await ledger.mark(sink)


async def test_a_stream_that_was_made_again_takes_any_ledger(client, scope, ledger, sink, make_stream):
    await ledger.mark(sink)
    await client.delete_stream(sink)
    assert await make_stream(2) == sink
    other = client.commit_ledger(scope, "other")
    await other.create()

    await other.mark(sink)


@pytest.fixture
def lose_tags(client, sink):
    """Does what a tool does that sets the tags of a stream and does not know ours."""

    async def lose_tags() -> None:
        configuration = await client.controller.stream_configuration(sink)
        await client.controller.update_stream(sink, replace(configuration, tags=("another",)))

    return lose_tags


async def test_a_tag_that_somebody_has_removed_is_put_back(ledger, sink, tags, lose_tags, caplog):
    await ledger.mark(sink)
    before = await tags()
    await lose_tags()

    assert await ledger.mark(sink) is None

    assert await tags() == ("another", *before)
    assert f"its tag {before[0]} was removed" in caplog.text


@pytest.mark.parametrize("scaled", [False, True])
async def test_another_ledger_is_noticed_without_the_tag(client, scope, ledger, sink, tags, lose_tags, scaled):
    await ledger.mark(sink)
    await lose_tags()
    if scaled:
        await client.scale_stream(sink, 3)
    other = client.commit_ledger(scope, "other")
    await other.create()

    with pytest.raises(WrongLedgerError, match=f"not that of the ledger {scope}/other .* its tag, .*, was removed"):
        await other.mark(sink)

    assert await tags() == ("another",)
    await other.mark(sink, adopt=True)
    assert await other.mark(sink) is None
    with pytest.raises(WrongLedgerError):
        await ledger.mark(sink)


async def test_a_ledger_that_was_deleted_is_noticed_without_the_tag(client, ledger, sink, lose_tags):
    await ledger.mark(sink)
    await lose_tags()
    assert await client.controller.delete_table(ledger.scope, ledger.table)
    again = client.commit_ledger(ledger.scope, ledger.table)
    await again.create()

    with pytest.raises(WrongLedgerError, match=r"or this one was deleted.*pravega ledger adopt"):
        await again.mark(sink)


async def test_a_mark_of_an_older_release_is_put_into_the_segments(client, scope, ledger, sink, lose_tags):
    tag = tag_of(await ledger._identity(), f"{scope}/{ledger.table}")
    configuration = await client.controller.stream_configuration(sink)
    await client.controller.update_stream(sink, replace(configuration, tags=(tag,)))
    await ledger.mark(sink)
    await client.scale_stream(sink, 3)
    await ledger.mark(sink)
    await lose_tags()
    other = client.commit_ledger(scope, "other")
    await other.create()

    with pytest.raises(WrongLedgerError):
        await other.mark(sink)


async def test_a_sealed_stream_is_not_marked_and_can_still_be_compared_with(client, ledger, sink, make_stream):
    await client.seal_stream(sink)

    assert "is not marked with its commit ledger" in await ledger.mark(sink)
    assert await ledger.mark(await make_stream(1, "open")) is None


async def test_a_stream_that_is_missing_cannot_be_marked(ledger):
    with pytest.raises(StreamNotFoundError):
        await ledger.mark(StreamName(ledger.scope, f"no-such-{uuid.uuid4().hex}"))
