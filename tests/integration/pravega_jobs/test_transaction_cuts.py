"""Ranges that end where transactions of a database are whole, on real streams by events of a real Debezium."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.read import Order
from pravega_jobs.debezium.transactions import watch_of, whole_transactions

VECTORS = Path(__file__).parents[2] / "vectors" / "debezium-events.jsonl.gz"
TABLES = ("customers", "order_items")


@pytest.fixture
def make_stream(client, scope):
    """Makes streams in the test's scope."""

    async def make(name, segments=1):
        await client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(segments))
        return StreamName(scope, name)

    return make


@pytest.fixture
def write(client):
    """Writes events, as texts or documents, with their routing keys."""

    async def write(stream, *events):
        async with client.writer(stream) as writer:
            for event, key in events:
                text = event if isinstance(event, str) else json.dumps(event)
                await writer.write(text.encode(), key)

    return write


@pytest.fixture
def whole(client):
    """The ends of ranges of whole transactions; of streams the ranges are all there is."""

    async def whole(tables, transactions):
        given = {
            name: one if isinstance(one, StreamCutRange) else StreamCutRange(await client.head(one), UNBOUNDED)
            for name, one in tables.items()
        }
        return await whole_transactions(client, given, transactions)

    return whole


def change(transaction, number, table="a", op="c"):
    about = {"id": transaction, "total_order": number, "data_collection_order": number}
    return {"op": op, "after": {"id": 1}, "source": {"db": "shop", "table": table}, "transaction": about}


def end(transaction, **counts):
    parts = [{"data_collection": f"shop.{table}", "event_count": count} for table, count in counts.items()]
    return {"status": "END", "id": transaction, "event_count": sum(counts.values()), "data_collections": parts}, "t"


def begin(transaction):
    return {"status": "BEGIN", "id": transaction, "event_count": None, "data_collections": None}, "t"


def of_vectors():
    """Events of a real Debezium on PostgreSQL in the order in which it wrote them: by table, and of transactions."""
    lines = [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).splitlines()]
    found = {one["event"]: one for one in lines if one["settings"] == "plain" and one["event"]}
    tables = {
        table: sorted(
            ((text, one["routing_key"] or "key") for text, one in found.items() if one["table"] == table),
            key=lambda event: json.loads(event[0])["source"]["lsn"],
        )
        for table in TABLES
    }
    others = [(text, one["routing_key"] or "key") for text, one in found.items() if one["op"] in ("BEGIN", "END")]
    return tables, others


async def numbers_before(client, stream, cut):
    """Which changes of each transaction are before a cut, by a parse of its own."""
    found = defaultdict(set)
    wanted = StreamCutRange(await client.head(stream), cut)
    async for event in client.read(wanted):
        about = json.loads(event.data)["transaction"]
        if about is not None:
            found[about["id"].partition(":")[0]].add(about["data_collection_order"])
    return found


async def test_real_transactions_over_two_tables_are_whole_or_not_there(client, make_stream, write, whole):
    tables, others = of_vectors()
    streams = {f"public.{table}": await make_stream(table.replace("_", "-"), 3) for table in TABLES}
    for table, stream in zip(TABLES, streams.values(), strict=True):
        await write(stream, *tables[table])
    full, lacking = await make_stream("full"), await make_stream("lacking")
    await write(full, *others)
    await write(lacking, *[one for one in others if '"END","id":"1005:' not in one[0]])

    ends = {stream: await client.tail(stream) for stream in streams.values()}
    assert (await whole(streams, full)).ends == ends
    found = await whole(streams, lacking)

    assert found.waits_for == {"1005": None}
    before = {name: await numbers_before(client, stream, found.ends[stream]) for name, stream in streams.items()}
    assert all("1005" not in numbers for numbers in before.values())
    counts = {
        one["id"].partition(":")[0]: {part["data_collection"]: part["event_count"] for part in one["data_collections"]}
        for text, _ in others
        if (one := json.loads(text))["status"] == "END"
    }
    for name, numbers in before.items():
        assert numbers
        for transaction, seen in numbers.items():
            assert len(seen) == counts[transaction][name]
            for other in streams:
                assert len(before[other].get(transaction, ())) == counts[transaction].get(other, 0)


async def test_an_end_of_ddl_is_not_waited_for_and_a_wanted_end_is_not_passed(client, make_stream, write, whole):
    table, other, transactions = await make_stream("a"), await make_stream("b"), await make_stream("transactions")
    await write(table, (change("1", 1), "k"), (change("2", 1), "k"))
    wanted = await client.tail(table)
    await write(table, (change("2", 2), "k"), (change("3", 1), "k"))
    await write(other, (change("1", 1, "b"), "k"))
    await write(transactions, begin("ddl"), end("2", a=2), begin("1"), end("1", a=1, b=1, elsewhere=4), end("3", a=1))
    head = await client.head(table)

    found = await whole({"shop.a": StreamCutRange(head, wanted), "shop.b": other}, transactions)

    assert found.waits_for == {"2": 1}
    assert await numbers_before(client, table, found.ends[table]) == {"1": {1}}
    assert found.ends[other] == await client.tail(other)
    assert (await whole({"shop.a": table, "shop.b": other}, transactions)).ends[table] == await client.tail(table)


async def test_changes_that_debezium_repeats_after_a_restart_hold_nothing_back(client, make_stream, write, whole):
    table, transactions = await make_stream("a", 2), await make_stream("transactions")
    changes = [(change("1", number), str(number)) for number in range(1, 7)]
    await write(table, *changes)
    await write(transactions, end("1", a=6))
    first = (await whole({"shop.a": table}, transactions)).ends[table]
    assert first == await client.tail(table)

    await write(table, *changes[3:], (change("2", 1), "k"), *changes[4:])
    await write(transactions, end("1", a=6), end("2", a=1))

    found = await whole({"shop.a": StreamCutRange(first, UNBOUNDED)}, transactions)
    assert found.waits_for == {}
    assert found.ends[table] == await client.tail(table)


async def test_an_open_transaction_from_before_a_scaling_lowers_the_cut(client, make_stream, write, whole):
    table, transactions = await make_stream("a"), await make_stream("transactions")
    await write(table, (change("1", 1), "k"))
    before = await client.tail(table)
    await write(table, (change("2", 1), "k"))
    await client.scale_stream(table, 2)
    await write(table, *[(change(str(number), 1), str(number)) for number in range(3, 9)])
    await write(transactions, *[end(str(number), a=1) for number in range(1, 9) if number != 2])

    assert (await whole({"shop.a": table}, transactions)).ends[table] == before

    await write(transactions, end("2", a=1))
    assert (await whole({"shop.a": table}, transactions)).ends[table] == await client.tail(table)


async def test_a_condition_ends_ranges_of_sensors_between_transactions(client, make_stream, write):
    table, transactions = await make_stream("a"), await make_stream("transactions")
    head = await client.head(table)
    watch = watch_of(MoveCondition(transactions="transactions", max_events=2))

    async def end_from(start):
        return await watch.end_if_moved(client, start, check=True)

    await write(table, (change("1", 1), "k"))
    assert await end_from(head) is None
    await write(transactions, end("1", a=1))
    first = await end_from(head)
    assert first == await client.tail(table)
    await write(table, *[(change("2", number), "k") for number in range(1, 4)], (change("3", 1), "k"))
    await write(transactions, end("2", a=3))
    second = await end_from(
        first
    )  # of three events, though two are the most of a range: less would cut the transaction
    assert await numbers_before(client, table, second) == {"1": {1}, "2": {1, 2, 3}}
    assert await end_from(second) is None
    empty = watch_of(MoveCondition(transactions="transactions", min_bytes=0))
    assert await empty.end_if_moved(client, second, check=True) == second
    assert await client.compare(first, second) is Order.BEFORE


async def test_what_is_not_understood_is_refused_with_where_it_is(make_stream, write, whole):
    plain, transactions, untold = (
        await make_stream("plain"),
        await make_stream("transactions"),
        await make_stream("untold"),
    )
    await write(plain, ('{"id":1,"__op":"c"}', "k"))
    await write(untold, (change("1", 1) | {"transaction": None}, "k"))

    with pytest.raises(MalformedEventError, match=r"plain/0\.#epoch\.0 at offset 0: .*flattened"):
        await whole({"shop.a": plain}, transactions)
    with pytest.raises(ConfigurationError, match=r"at offset 0: .*provide\.transaction\.metadata=true"):
        await whole({"shop.a": untold}, transactions)
    with pytest.raises(ConfigurationError, match="names no stream"):
        await whole({"shop.a": StreamCutRange(UNBOUNDED, UNBOUNDED)}, transactions)
    with pytest.raises(ConfigurationError, match="no tables"):
        await whole({}, transactions)
