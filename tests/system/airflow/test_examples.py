"""Each example, started by API, command line, schedule and asset on Airflow's real components, does its work."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import Any

import pyarrow.parquet
import pytest
from airflow.sdk import DAG
from deltalake import DeltaTable
from example_dags import source
from tests.system.airflow.example_ways import FOLDER, NOT_STARTED, OF_PARTITIONS, SHARED, Copy, Way, copy_of

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient

on_processes = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]
JANUARY = datetime(2013, 1, 1, tzinfo=UTC)
FEBRUARY = datetime(2013, 2, 1, tzinfo=UTC)
YEAR_ENDS = datetime(2014, 1, 1, tzinfo=UTC)
# A day of each month, of which the first and the last of the year are two.
DAYS = [date(2013, 1, 1), *(date(2013, month, 15) for month in range(2, 12)), date(2013, 12, 31)]
FLIGHTS_OF_JANUARY = 27_004
ORDERS = [{"order": number, "run": "a"} for number in range(20)]


def events_of(client: PravegaClient, scope: str, stream: str) -> list[Any]:
    """All events of a stream, which are JSON."""
    whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
    return [json.loads(event.data) for event in client.read(whole, StreamName(scope, stream))]


def make(client: PravegaClient, scope: str, stream: str, *events: Any) -> None:
    """A stream in a new scope, with some events."""
    assert client.create_scope(scope)
    patience = timedelta(minutes=10)
    assert client.create_stream(f"{scope}/{stream}", ScalingPolicy.fixed(4), timestamp_aggregation_timeout=patience)
    with client.writer(f"{scope}/{stream}") as writer:
        writer.write_many([json.dumps(event).encode() for event in events])


def flights(first: date, last: date) -> Callable[[PravegaClient, str], None]:
    """Makes a stream with the flights of some days."""

    def arrange(client: PravegaClient, scope: str) -> None:
        make(client, scope, "flights")
        list(source.replay(client, StreamName(scope, "flights"), first, last))

    return arrange


def marked_until(client: PravegaClient, scope: str, end: datetime) -> None:
    """Wait until the stream's watermarks have reached a time."""
    next(mark for mark in client.watermarks(f"{scope}/flights", follow=True) if mark.lower >= end.timestamp() * 1000)


def month(client: PravegaClient, scope: str) -> None:
    """Flights about the end of January, and marks that say that January is complete."""
    make(client, scope, "flights")
    client.note_time(f"{scope}/flights", source.WRITER, JANUARY)
    marked_until(client, scope, JANUARY)
    list(source.replay(client, StreamName(scope, "flights"), date(2013, 1, 30), date(2013, 2, 3)))


def year(client: PravegaClient, scope: str) -> None:
    """Flights of each month, and marks that say that the year is complete."""
    make(client, scope, "flights")
    client.note_time(f"{scope}/flights", source.WRITER, JANUARY)
    marked_until(client, scope, JANUARY)
    for day in DAYS:
        list(source.replay(client, StreamName(scope, "flights"), day, day))
    client.note_time(f"{scope}/flights", source.WRITER, YEAR_ENDS + timedelta(days=1))
    marked_until(client, scope, YEAR_ENDS)


def departed(client: PravegaClient, scope: str, since: datetime, until: datetime) -> int:
    """How many flights of the stream departed between two times."""
    found = [datetime.fromisoformat(each["departed"]) for each in events_of(client, scope, "flights")]
    return sum(since <= (at if at.tzinfo else at.replace(tzinfo=UTC)) < until for at in found)


def delays_are_complete(client: PravegaClient, scope: str, stream: str = "delays") -> None:
    """All flights are in a stream of delays, once."""
    delays = events_of(client, scope, stream)
    assert sum(each["flights"] for each in delays) == len(events_of(client, scope, "flights")) > 0
    assert len({(each["carrier"], each["day"]) for each in delays}) == len(delays)


def changes(client: PravegaClient, scope: str) -> None:
    """Rows of a table, as Debezium writes them."""
    rows = [{"id": number, "customer": 7, "price": "12.50", "placed": None} for number in range(1, 4)]
    source = {"connector": "postgresql", "ts_ms": 1}
    make(
        client,
        scope,
        "inv.public.orders",
        *({"before": None, "after": row, "op": "c", "ts_ms": 1, "source": source | {"lsn": row["id"]}} for row in rows),
    )


@dataclass(frozen=True)
class Ran:
    """A run that has ended well: its scope, the folder of its files, and what its tasks have returned, by their ids."""

    client: PravegaClient
    scope: str
    folder: str
    result: Callable[[str], Any]


@dataclass(frozen=True)
class Example:
    """What is there before an example runs, what its run is given, and what must be there after it.

    `before` and `conf` get a client and the scope.
    """

    after: Callable[[Ran], None]
    before: Callable[[PravegaClient, str], None] | None = None
    logical_date: datetime | None = None
    conf: Callable[[PravegaClient, str], dict[str, str]] | None = None


def after_replay(ran: Ran) -> None:
    assert ran.result("replay") == len(events_of(ran.client, ran.scope, "flights")) == FLIGHTS_OF_JANUARY


def after_delays(ran: Ran) -> None:
    assert ran.result("read")["rows"] == len(events_of(ran.client, ran.scope, "flights"))
    assert ran.result("write")["events"] == len(events_of(ran.client, ran.scope, "delays"))
    delays_are_complete(ran.client, ran.scope)


def after_backfill(ran: Ran) -> None:
    assert ran.result("read")["rows"] == len(events_of(ran.client, ran.scope, "flights")) > 0


def after_taskflow(ran: Ran) -> None:
    delays_are_complete(ran.client, ran.scope)


def after_submitted(ran: Ran) -> None:
    found = ran.result("delays")
    assert found["events"] == len(events_of(ran.client, ran.scope, "flights"))
    assert found["reported"] == {"carriers and days": found["output"]["events"]}
    delays_are_complete(ran.client, ran.scope, "carriers")


def after_month(ran: Ran) -> None:
    assert ran.result("read")["rows"] == departed(ran.client, ran.scope, JANUARY, FEBRUARY) > 0
    assert ran.result("read")["path"].endswith("/2013-01-01")


def after_year(ran: Ran) -> None:
    # Months that another run has read are not in the plan.
    plan = ran.result("plan")
    assert len(plan) in (0, 12)
    states = ran.client.cut_ledger(ran.scope).records("flights_year", StreamName(ran.scope, "flights"))
    assert [record.state.value for record in states] == ["done"] * 12
    rows = (
        sum(pyarrow.parquet.read_table(f"{ran.folder}/flights/2013-{n:02}-01").num_rows for n in range(1, 13))
        if plan
        else 0
    )
    assert rows == (departed(ran.client, ran.scope, JANUARY, YEAR_ENDS) if plan else 0)


def after_schema(ran: Ran) -> None:
    assert ran.result("use")["version"] == 1


def after_landed(ran: Ran) -> None:
    assert ran.result("land")["rows"] == len(ORDERS)
    assert sorted(pyarrow.parquet.read_table(f"{ran.folder}/orders")["order"].to_pylist()) == list(range(len(ORDERS)))


def after_kept(ran: Ran) -> None:
    assert (ran.result("keep")["rows"], ran.result("keep")["errors"]) == (len(ORDERS), 0)
    found = DeltaTable(f"{ran.folder}/orders").to_pyarrow_table()["order"].to_pylist()
    assert sorted(found) == list(range(len(ORDERS)))


def after_merged(ran: Ran) -> None:
    assert ran.result("merge")["inserted"] == 3
    assert sorted(DeltaTable(f"{ran.folder}/orders").to_pyarrow_table()["id"].to_pylist()) == [1, 2, 3]


def after_watched(ran: Ran) -> None:
    assert sorted(each["order"] for each in ran.result("read")["events"]) == list(range(len(ORDERS)))


def after_upkeep(ran: Ran) -> None:
    assert [each["order"] for each in ran.result("read")["events"]] == [1, 2]
    assert ran.client.subscribers(f"{ran.scope}/orders") == ["upkeep"]


def after_end(ran: Ran) -> None:
    assert ran.result("delete") is True
    assert ran.client.list_streams(ran.scope) == []


def orders(client: PravegaClient, scope: str) -> None:
    make(client, scope, "orders", *ORDERS)


def whole(client: PravegaClient, scope: str) -> dict[str, str]:
    return StreamCutRange(client.head(f"{scope}/flights"), client.tail(f"{scope}/flights")).to_json()


FIRST = date(2013, 1, 1)
EXAMPLES = {
    "flights_replay": Example(after_replay),
    # A million bytes, for which its sensor waits, are some days.
    "flights_delays": Example(after_delays, flights(FIRST, date(2013, 1, 10))),
    "flights_backfill": Example(after_backfill, flights(FIRST, FIRST), conf=whole),
    "flights_taskflow": Example(after_taskflow, flights(FIRST, FIRST)),
    "flights_polars": Example(after_taskflow, flights(FIRST, FIRST)),
    "flights_submitted": Example(after_submitted, flights(FIRST, FIRST)),
    "flights_month": Example(after_month, month, logical_date=FEBRUARY),
    "flights_year": Example(after_year, year),
    "delays_schema": Example(after_schema),
    "orders_kept": Example(after_kept, orders),
    "orders_landed": Example(after_landed, orders),
    "orders_merged": Example(after_merged, changes),
    "orders_watched": Example(after_watched, orders),
    "orders_upkeep": Example(after_upkeep),
    "orders_end": Example(after_end, orders),
}


def test_every_example_is_here(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    modules = [import_module(file.stem) for file in FOLDER.glob("*.py") if file.stem not in OF_PARTITIONS]
    found = {value.dag_id for module in modules for value in vars(module).values() if isinstance(value, DAG)}
    assert found == EXAMPLES.keys()
    assert {dag_id for dag_id, _ in NOT_STARTED} <= found


def start(airflow: Any, example: Example, copy: Copy, way: Way, conf: dict[str, str]) -> str:
    """Start a run of a copy in a way; its id."""
    api = airflow.api
    match way:
        case Way.API:
            date_ = example.logical_date and example.logical_date.isoformat()
            return str(api.trigger(copy.dag_id, conf=conf, logical_date=date_))
        case Way.COMMAND_LINE:
            airflow.run("dags", "trigger", copy.dag_id, "--run-id", "typed", "--conf", json.dumps(conf))
            return "typed"
        case Way.SCHEDULE if example.logical_date is not None:
            # Its dates have passed: the scheduler makes runs of them by a backfill only.
            airflow.run(
                "backfill", "create", "--dag-id", copy.dag_id, "--from-date", "2013-01-01", "--to-date", "2013-01-01"
            )
        case Way.ASSET if copy.dag_id == "orders_watched_by_asset":
            api.start_watchers(copy.dag_id)
        case Way.ASSET:
            api.asset_event(copy.asset)
    return str(api.only_run(copy.dag_id))


@pytest.mark.parametrize("dag_id", EXAMPLES)
def test_an_example_does_its_work_however_it_is_started(airflow, client, dag_id):
    example, api = EXAMPLES[dag_id], airflow.api
    copies = {way: copy_of(dag_id, way) for way in Way if (dag_id, way) not in NOT_STARTED}
    for scope in {copy.scope for copy in copies.values()}:
        if example.before is not None:
            example.before(client, scope)
    runs: dict[Way, str] = {}

    def finish(way):
        copy = copies[way]
        api.wait_for_run(copy.dag_id, runs[way])
        module = next(file.stem for file in FOLDER.glob("*.py") if f'"{dag_id}"' in file.read_text())
        folder = f"{airflow.home}/files/{module}_{way.value}"
        example.after(Ran(client, copy.scope, folder, lambda task_id: api.result(copy.dag_id, runs[way], task_id)))

    for way, copy in copies.items():
        api.unpause(copy.dag_id)
        conf = {} if example.conf is None else example.conf(client, copy.scope)
        runs[way] = start(airflow, example, copy, way, conf)
        if dag_id in SHARED:
            finish(way)
    if dag_id not in SHARED:
        for way in copies:
            finish(way)


test_an_example_does_its_work_however_it_is_started.pytestmark += on_processes
