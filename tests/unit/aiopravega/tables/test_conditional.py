"""What comes of a conditional update whose answer is lost, whose rival is not stored yet, or whose entry was moved."""

import pytest

from aiopravega.errors import PravegaConnectionError, ServerError, TableConflictError
from aiopravega.retry import RetryPolicy
from aiopravega.tables import TableEntry
from aiopravega.tables.conditional import ABSENT, ANY, conditionally

SOON = RetryPolicy(initial=0.001, longest=0.001, total=5)
LOST = PravegaConnectionError("the answer is lost")
REFUSED = TableConflictError("refused")


async def outcome(answers, tables, wanted, policy=SOON, index=(), sent=None):
    """The outcome of an update that gets some answers, where each reader after a conflict finds the next table.

    `index` has what the index shows after each conflict, if entries were moved; `sent` gets the conditions.
    """
    answers, tables, index = iter(answers), iter(tables), iter(index)

    async def attempt(versions):
        if sent is not None:
            sent.append(dict(versions))
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def read():
        return {key: TableEntry(key, value, version) for key, (value, version) in next(tables).items()}

    async def positions(keys):
        return {key: version for key, version in next(index, {}).items() if key in keys}

    return await conditionally(attempt, read, positions, wanted, policy, "update of table scope/table")


async def test_the_update_of_an_attempt_whose_answer_was_lost_is_found():
    wanted = {b"a": (b"new", 1), b"b": (b"new", ABSENT)}
    assert await outcome([LOST, REFUSED], [{b"b": (b"new", 5), b"a": (b"new", 4)}], wanted) == [4, 5]
    assert await outcome([LOST, REFUSED], [{}], {b"a": (None, 1)}) == []


async def test_a_rival_that_is_not_stored_yet_is_waited_for():
    before, after = {b"a": (b"old", 1)}, {b"a": (b"rival", 2)}
    with pytest.raises(TableConflictError, match="update of table scope/table: another client has changed a key"):
        await outcome([REFUSED, REFUSED, REFUSED], [before, before, after], {b"a": (b"new", 1)})


async def test_a_rival_that_was_never_stored_is_no_conflict():
    assert await outcome([REFUSED, [2]], [{b"a": (b"old", 1)}], {b"a": (b"new", 1)}) == [2]
    assert await outcome([REFUSED, [2]], [{}], {b"a": (b"new", ABSENT)}) == [2]


async def test_the_same_value_of_a_rival_is_not_ours():
    with pytest.raises(TableConflictError):
        await outcome([REFUSED, REFUSED], [{b"a": (b"old", 1)}, {b"a": (b"new", 2)}], {b"a": (b"new", 1)})


async def test_one_changed_key_of_several_is_a_conflict():
    found = {b"a": (b"old", 1), b"b": (b"rival", 3)}
    with pytest.raises(TableConflictError):
        await outcome([REFUSED], [found], {b"a": (b"new", 1), b"b": (b"new", 2), b"c": (b"new", ANY)})


async def test_a_rival_that_is_never_seen_is_an_error_of_the_server():
    never = RetryPolicy(initial=0.001, longest=0.001, total=0)
    with pytest.raises(ServerError, match="does not show yet"):
        await outcome([REFUSED], [{b"a": (b"old", 1)}], {b"a": (b"new", 1)}, never)


async def test_an_entry_that_was_moved_is_asked_for_at_its_new_position():
    table = {b"a": (b"old", 1), b"b": (b"old", 2)}
    sent: list[dict[bytes, int]] = []
    wanted = {b"a": (b"new", 1), b"b": (b"new", 2), b"c": (b"new", ABSENT)}
    index = [{b"a": 70, b"b": 2}, {b"a": 90, b"b": 80}]
    assert await outcome([REFUSED, REFUSED, [91, 92, 93]], [table, table], wanted, index=index, sent=sent) == [
        91,
        92,
        93,
    ]
    assert sent == [
        {b"a": 1, b"b": 2, b"c": ABSENT},
        {b"a": 70, b"b": 2, b"c": ABSENT},
        {b"a": 90, b"b": 80, b"c": ABSENT},
    ]


async def test_a_rival_of_an_entry_that_was_moved_is_a_conflict():
    tables = [{b"a": (b"old", 1)}, {b"a": (b"rival", 90)}]
    with pytest.raises(TableConflictError):
        await outcome([REFUSED, REFUSED], tables, {b"a": (b"new", 1)}, index=[{b"a": 70}, {b"a": 90}])
