"""Key-value tables on the real server, as the controller sees them."""

import pytest

from aiopravega import errors
from aiopravega.control import Access


async def test_a_table_is_made_once_and_deleted_once(controller, scope):
    assert await controller.create_table(scope, "table", 3, 16) is True
    assert await controller.create_table(scope, "table", 3, 16) is False
    assert await controller.table_exists(scope, "table")

    assert await controller.delete_table(scope, "table") is True
    assert await controller.delete_table(scope, "table") is False
    assert not await controller.table_exists(scope, "table")


async def test_tables_are_listed_in_order(controller, scope, make_stream):
    await make_stream("a-stream")
    for name in ("b", "a"):
        await controller.create_table(scope, name, 1, 8)

    assert await controller.list_tables(scope) == ["a", "b"]


async def test_the_segments_of_a_table_cover_the_key_space_and_are_found(controller, scope):
    await controller.create_table(scope, "table", 4, 8, secondary_key_length=8)

    ranges = await controller.table_segments(scope, "table")

    assert [(entry.low, entry.high) for entry in ranges] == [(0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)]
    assert str(ranges[0].segment) == f"{scope}/table_kvtable/0.#epoch.0"
    for entry in ranges:
        assert (await controller.endpoint(entry.segment)).port
    assert await controller.delegation_token(ranges[0].segment.stream, Access.READ_WRITE) == ""


async def test_a_table_that_does_not_exist_is_named(controller, scope):
    assert not await controller.table_exists(f"{scope}-gone", "table")
    with pytest.raises(errors.TableNotFoundError, match=f"{scope}/nowhere"):
        await controller.table_segments(scope, "nowhere")


@pytest.mark.parametrize(
    ("name", "partitions", "key_length", "words"),
    [("two words", 1, 8, "two words"), ("table", 0, 8, "0 partitions"), ("table", 1, 0, "keys of 0")],
)
async def test_a_table_that_cannot_be_made_says_why(controller, scope, name, partitions, key_length, words):
    with pytest.raises(errors.ConfigurationError, match=words):
        await controller.create_table(scope, name, partitions, key_length)
