"""The code on the pages about the client runs, and does what the pages say; so do the commands that stand beside it."""
# long because: a test for each page, which share the stream and the fixtures

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import polars as pl
import pyarrow as pa
import pydantic
import pytest
from tests.pages.blocks import ROOT

import dagster_pravega
from aiopravega import StreamCut, StreamCutRange, StreamName, groups
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import take_recorded
from aiopravega.blocking.registry import SchemaRegistry as BlockingRegistry
from aiopravega.groups import JavaCheckpoint, cut_to_bytes
from aiopravega.ledger import Interval
from aiopravega.schema import GroupProperties, RegistryConfig, SchemaFormat, SchemaInfo, SchemaRegistry
from aiopravega.schema.serializers import AvroFormat
from pravega_jobs.landing import holdings

# In the process of the other pages.
pytestmark = pytest.mark.xdist_group("pyspark_pravega")

EVENTS = [b"event %d" % number for number in range(10)]


class NoCodec:
    """Leaves payloads as they are."""

    def compress(self, payload):
        return payload

    def decompress(self, payload, limit):
        return payload[:limit]


class Order(pydantic.BaseModel):
    id: int
    note: str = ""


@pytest.fixture
def cuts(client, scope, fill):
    """Three cuts of the stream `orders`, with ten events between neighbours."""
    fill("orders")
    found = [client.tail(f"{scope}/orders")]
    for _ in range(2):
        fill("orders", *EVENTS)
        found.append(client.tail(f"{scope}/orders"))
    return found


def test_compare_ranges(open_page, cuts):
    first, second, third = cuts

    open_page("compare-ranges").give(first=first, second=second, third=third).run()


def test_follow_a_stream(open_page, client, scope, fill, capsys):
    fill("orders", *EVENTS)
    client.seal_stream(f"{scope}/orders")
    read: list[bytes] = []
    page = open_page("follow-a-stream").give(handle=read.append, handle_all=read.extend).run(1, 2)
    asyncio.run(page.names["follow"]("earliest"))
    page.give(continue_at="earliest").run(3)
    assert read == EVENTS * 3
    page.run(4)
    assert client.head(f"{scope}/orders") != StreamCut.from_text(page.names["continue_at"])
    assert page.command("pravega read examples/orders")[1] == 0
    assert capsys.readouterr().out.split("\n") == [*(event.decode() for event in EVENTS), ""]


@pytest.fixture
def claimed(client, scope, fill):
    """Records all of a new stream, which has ten events, as the range of an open interval."""

    def claimed(stream, consumer, name):
        fill(stream, *EVENTS)
        ledger = client.cut_ledger(scope)
        ledger.create()
        interval = Interval(consumer, StreamName(scope, stream), name)
        ledger.claim(interval, StreamCutRange(client.head(interval.stream), client.tail(interval.stream)))
        return interval

    return claimed


def state_of(client, interval):
    return client.cut_ledger(interval.stream.scope).find(interval).state.value


def test_cut_ledger(open_page, claimed):
    claimed("flights", "flights_delays/wait", "2026-01-05")
    page = open_page("cut-ledger")

    assert page.command("pravega cuts list examples/flights --consumer")[1] == 0


def test_my_dag_waits(open_page, claimed, capsys):
    claimed("flights", "flights_delays/wait", "2026-01-05")
    page = open_page("my-dag-waits")

    assert page.command("pravega cuts list examples/flights --consumer")[1] == 0
    assert "open" in capsys.readouterr().out
    assert page.command("pravega cuts verify")[1] == 1
    assert "open" in capsys.readouterr().out
    assert page.command("pravega lag")[1] == 0
    assert "flights_delays/wait" in capsys.readouterr().out


def test_your_own_task(open_page, client, scope, fill, claimed):
    page = open_page("your-own-task")

    ours = claimed("orders", "given", "a run")
    page.run(1, 2)  # as tasks of Airflow, tests/integration/airflow_pravega/test_range_tasks.py runs their like
    with take_recorded(client, ours) as taken:
        assert page.names["count_orders"].function(taken) == len(EVENTS)
    assert state_of(client, ours) == "done"

    page.run(3)
    partition = claimed("orders", "orders_counted", "a range")
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(page.names["ranges"].name, ["a range"])
        done = dg.materialize(
            [page.names["orders_counted"]],
            partition_key="a range",
            resources={"pravega": dagster_pravega.PravegaResource()},
            instance=instance,
        )
    assert done.success
    assert state_of(client, partition) == "done"

    fill("flights", *EVENTS)
    read: list[bytes] = []
    page.give(process=lambda events: read.extend(event.data for event in events)).run(4)
    assert sorted(read) == sorted(EVENTS)
    assert state_of(client, Interval("my-job", StreamName(scope, "flights"), "2026-01-05")) == "done"

    by_hand = claimed("orders", "orders_counted/wait", "manual__2026-01-05")
    page.run(5)
    assert state_of(client, by_hand) == "done"


def test_frames(open_page, client, scope, fill, capsys, tmp_path):
    delays = [("AA", 5.0), ("AA", 7.5), ("UA", 1.0)]
    fill("flights", *(json.dumps({"carrier": carrier, "delay": delay}).encode() for carrier, delay in delays))
    fill("delays")

    page = open_page("frames").run()

    worst = {"AA": 7.5, "UA": 1.0}
    assert dict(page.names["sums"].select("carrier", "delay").iter_rows()) == worst
    assert capsys.readouterr().out.strip() == str(list(worst.items()))
    for consumer in ("delays", "newest"):
        assert state_of(client, Interval(consumer, StreamName(scope, "flights"), "2026-01-05")) == "done"
    assert page.names["merged"].counts.inserted == len(worst)
    assert set(pl.read_delta(str(tmp_path / "newest"))["carrier"]) == set(worst)


def test_several_sinks(open_page, spark, client, scope, fill, capsys, tmp_path):
    fill(
        "flights", *(json.dumps({"carrier": each, "delay": delay}).encode() for each, delay in (("AA", 5), ("UA", 60)))
    )
    for name in ("punctual", "delayed", "east", "west"):
        fill(name)
    page = open_page("several-sinks").give(spark=spark).run()
    said = capsys.readouterr().out
    assert said.splitlines()[:3] == ["2", "delayed 1", "punctual 1"]
    assert said.count(f"{scope}/delayed, {scope}/punctual") == 2  # `verify` and `finish`; `list` has a line for each
    # The write with tables is in one of the streams: `list` and `finish` show it.
    assert (said.count(f"{scope}/punctual"), said.count(f"{scope}/delayed")) == (3, 5)
    assert len(list(client.read_visible(f"{scope}/west", "regions 2026-01-05"))) == 1
    assert [len(pl.read_delta(str(tmp_path / "worst"))), holdings(f"parquet:{tmp_path / 'flights'}")[0].rows] == [2, 2]
    batch = spark.createDataFrame([("AA", "east"), ("UA", "west"), ("US", "west")], "carrier string, region string")
    for _ in range(2):
        page.names["divide"](batch, 0)
    assert len(list(client.read_visible(f"{scope}/west", "regions/0"))) == 2
    assert len(client.written(f"{scope}/east", "regions/0")) == 1


def test_sql(open_page, client, scope, fill, capfd, tmp_path):
    delays = [("AA", 5.0), ("AA", 75.5), ("UA", 1.0)]
    fill("flights", *(json.dumps({"carrier": carrier, "delay": delay}).encode() for carrier, delay in delays))
    fill("carriers", b'{"carrier": "AA", "name": "American"}')
    fill("delays")

    open_page("sql").run()

    printed = capfd.readouterr()
    assert "American  75.5" in printed.out
    assert f"2 events are written to {scope}/delays" in printed.out
    assert "error" not in printed.err
    ends = StreamCutRange(client.head(f"{scope}/delays"), client.tail(f"{scope}/delays"))
    written = [json.loads(event.data) for event in client.read(ends)]
    assert sorted((row["carrier"], row["delay"]) for row in written) == [("AA", 0.5), ("AA", 75.5), ("UA", 1.0)]
    assert {file.name for file in tmp_path.iterdir()} == {"flights.parquet", "all.parquet", "raw.ndjson"}
    assert not client.stream_exists(f"{scope}/late")


def test_tables(open_page, client, scope, capsys):
    page = open_page("tables").run()

    assert client.table(scope, "customers").get(b"00000042").value == b"closed"
    assert page.command("pravega tables show examples/customers")[1] == 0
    assert "customers" in capsys.readouterr().out


def test_command_line(open_page, client, scope, capsys):
    page = open_page("command-line", shop=scope)
    assert page.command("pravega streams create")[1] == 0
    with client.writer(f"{scope}/orders") as writer:
        writer.write(b'{"id": 1}')

    for start in ("update", "scale"):  # nobody is there to be asked
        assert page.command(f"pravega streams {start}")[1] == 1
    for start in ("streams show", "read shop/orders --max", "read shop/orders --format json", "streams truncate"):
        assert page.command(f"pravega {start}")[1] == 0
    assert '"event": {"id": 1}' in capsys.readouterr().out
    assert page.command("pravega streams delete")[1] == 0


def test_catalog(open_page, capsys, tmp_path):
    (tmp_path / "delays.json").write_text((ROOT / "example_dags" / "schemas" / "delays.json").read_text())
    page = open_page("catalog").give(Order=Order).run()
    assert "orders 4" in capsys.readouterr().out
    for start in ("create", "list examples", "show", "delete"):
        assert page.command(f"pravega streams {start}")[1] == 0, start
    printed = capsys.readouterr().out
    assert re.search(r"delays +2 +0 +Json delays v0 +BackwardTransitive +flights", printed)
    assert "sum of those that departed" in printed


def test_event_time(open_page, spark, client, scope):
    schema = {"type": "object", "properties": {"ordered_at": {"type": "integer"}}}
    page = open_page("event-time", **{'b"..."': """b'{"ordered_at":1768003200000}'"""})
    asynchronous = page.connect()
    page.give(spark=spark, schema=json.dumps(schema), datetime=datetime, timedelta=timedelta, UTC=UTC).run(1)

    async def until_marked(time):
        async for mark in asynchronous.watermarks(f"{scope}/orders", follow=True):
            if mark.lower >= time.timestamp() * 1000:
                return

    # What the page asks of writers: each has noted a time before its first event.
    before = datetime(2025, 12, 31, tzinfo=UTC)
    for writer in ("shop-7", "nightly", "loader"):
        client.note_time(f"{scope}/orders", writer, before)
    page.wait(until_marked(before))
    page.run(2)
    page.wait(until_marked(datetime(2026, 2, 1, tzinfo=UTC)))
    page.run(3, 4, 5)
    assert page.names["january"].count() == 2
    assert len(list(client.read(page.names["wanted"]))) == 2
    client.seal_stream(f"{scope}/orders")
    page.run()
    assert page.names["found"].required() == page.names["found"].cut


def test_reach_a_secured_cluster(open_page, pravega_emulator_secure, scope, monkeypatch, capsys):
    server = pravega_emulator_secure
    with PravegaClient(server.config) as owner:
        owner.create_scope(scope)
        owner.create_stream(f"{scope}/orders")
    page = open_page("reach-a-secured-cluster")
    account = next(each for each in server.accounts if each.name == "reader")
    for name, value in {
        "CONTROLLER_URI": server.controller_uri,
        "CA_FILE": str(server.ca_file),
        "USERNAME": account.name,
        "PASSWORD": account.password,
    }.items():
        monkeypatch.setenv(f"PRAVEGA_{name}", value)

    page.run()

    assert capsys.readouterr().out.strip()


def test_check_schemas(open_page, scope, pravega_emulator, tmp_path, capsys):
    fields = [
        {"name": "id", "type": "long"},
        {"name": "plan", "type": {"type": "enum", "name": "Plan", "symbols": ["FREE", "PAID", "TRIAL"]}},
    ]
    old = {"type": "record", "name": "User", "namespace": "demo", "fields": fields}
    shorter = {"name": "plan", "type": {"type": "enum", "name": "Plan", "symbols": ["FREE", "PAID"]}}
    new = old | {"fields": [fields[0], shorter, {"name": "email", "type": "string"}]}
    (tmp_path / "user-1.avsc").write_text(json.dumps(old))
    (tmp_path / "user-2.avsc").write_text(json.dumps(new))
    page = open_page("check-schemas", **{'"users"': f'"{scope}users"'})
    assert page.command("pravega schema check --old user-1.avsc")[1] == 1
    printed = capsys.readouterr().out
    assert "keep TRIAL, or give the enum a default" in printed
    assert "not compatible: 2 violations (Avro, Backward, compared with versions: 0)" in printed

    assert page.command("pravega schema columns user-2.avsc")[1] == 0
    assert "email" in capsys.readouterr().out

    config = RegistryConfig(uri=pravega_emulator.schema_registry_uri)
    with BlockingRegistry(config) as registry:
        made = GroupProperties.of(SchemaFormat.AVRO, "AllowAny")
        registry.create_group(f"{scope}users", made)
        registry.add_schema(f"{scope}users", SchemaInfo.of(SchemaFormat.AVRO, "demo.User", json.dumps(old)))
    page.give(config=config, Path=Path).run()
    assert not page.names["report"].compatible
    assert "User.email" in capsys.readouterr().out


def test_serializers(open_page, client, scope, pravega_emulator):
    names = {'"orders"': f'"{scope}orders"', '/orders"': f'/{scope}orders"', '"events"': f'"{scope}events"'}
    page = open_page("serializers", **names)
    client.create_stream(f"{scope}/{scope}orders")
    cancellation = AvroFormat(
        {"type": "record", "name": f"{scope}.Cancellation", "fields": [{"name": "reason", "type": "string"}]}
    )
    batch = pa.RecordBatch.from_pydict({"id": [7, 8], "customer": ["alice", "bob"]})
    page.run(1, 2, 3)
    assert page.names["order"] == {"id": 7, "customer": "alice"}

    async def connect():
        return await SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)).__aenter__()

    page.give(registry=page.wait(connect()), MyCodec=NoCodec, CANCELLATION=cancellation, batch=batch).run()
    assert page.names["rows"].to_pylist() == batch.to_pylist()


def test_reader_groups(open_page, client, scope, cuts):
    start, end = cuts[0], cuts[1]
    client.create_reader_group(scope, "billing", [start])
    checkpoint = JavaCheckpoint("cp", {StreamName(scope, "orders"): start}).to_bytes()
    orders = dagster_pravega.pravega_stream_spec(f"{scope}/orders")

    @dg.asset
    def report() -> None: ...

    page = open_page("reader-groups").give(
        start=start,
        end=end,
        cut=end,
        data=checkpoint,
        bytes_of_a_cut=cut_to_bytes(start),
        StreamCutRange=StreamCutRange,
        timedelta=timedelta,
        orders=orders,
        report=report,
        **{name: getattr(dagster_pravega, name) for name in dagster_pravega.__all__ if name.startswith("build")},
        **{name: getattr(groups, name) for name in ("JavaCheckpoint", "cut_from_bytes", "flink_sql_options")},
    )
    page.connect()
    page.run(1, 2)
    assert page.names["found"].lag_bytes > 0
    assert client.describe_reader_group(scope, "billing").streams[0].position == end
    page.run(5, 6)
    assert page.names["enriched"].name == "enriched"
    assert page.names["checkpoint"].cuts == {StreamName(scope, "orders"): start}


def test_when_a_write_stops_half_way(open_page, client, scope, leave_decided, fill, capsys):
    fill("delays")
    sink = StreamName(scope, "delays")
    leave_decided(sink, b"a", b"b", write_id="delays/2013-01-01", committed=[0], lost=1)
    page = open_page("when-a-write-stops-half-way")

    page.run(1)
    assert "partial" in capsys.readouterr().out
    page.run(2)

    assert client.commit_ledger(scope).lookup(sink, "delays/2013-01-01").record.state.value == "done"


def test_first_page_of_the_site(open_page, fill, capsys):
    fill("orders", *EVENTS)

    open_page("index").run()

    assert capsys.readouterr().out == "b'three apples'\n"


def test_readme_of_the_client(open_page, fill, capsys):
    fill("orders")

    open_page("README of aiopravega").run()

    assert "b'payload'" in capsys.readouterr().out


def test_errors_tables(open_page, fill, capsys):
    fill("orders", b'{"id": 1, "price": 0.5}', b'{"id": 2}', b"no json")

    page = open_page("errors-tables")
    page.run(1)
    assert page.command("pravega errors list")[1] == page.command("pravega errors show")[1] == 0
    page.run()

    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert (lines[0], lines[-2], lines[-1].split("/")[-1]) == ("1 2", "2 1", "orders-errors 1")
    texts = "counted", "no json", "it has no field 'price'", "2026-01-05 2 2 1 cannot"
    assert [text for text in texts if text not in printed] == [], printed
