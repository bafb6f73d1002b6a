"""Assets that a range is divided into: several streams and tables get their rows by one write, also after kills."""

import json
from typing import Any

import dagster as dg
import polars as pl
import pyarrow as pa
import pytest
from tests.integration.dagster_pravega.days import DAYS, HOURS, OPTIONS, at, interval_of, key, write_days
from tests.pages.blocks import block_with

from aiopravega import ScalingPolicy, StreamName
from dagster_pravega import StreamBatches, build_several_sinks, pravega_stream_spec
from pravega_jobs.frames import RowsByKey
from pravega_jobs.landing import holdings

OWNER = "dagster/sinks split"
JSON = {"decode": "json"}
READ: dict[str, Any] = {"columns": "id long, region string", "options": JSON}
WHOLE = {"start": "earliest", "end": "latest"}


@pytest.fixture
def order(client, stream):
    """Writes orders, each by its number and region."""

    def order(*orders: tuple[int, str]) -> None:
        with client.writer(stream) as writer:
            writer.write_many([json.dumps({"id": number, "region": region}).encode() for number, region in orders])

    return order


@pytest.fixture
def sinks(client, scope, tmp_path) -> dict[str, str]:
    """Two streams and two tables, by the names of their assets."""
    for name in ("few", "many", "dead"):
        client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(1))
    tables = {"lake/all": f"parquet:{tmp_path}/all", "lake/last": f"delta:{tmp_path}/last"}
    return {"few": f"{scope}/few", "many": f"{scope}/many", **tables}


@pytest.fixture
def run(stream, manager, instance):
    """Materializes assets; gives the metadata of each by its key, or why they failed."""

    def run(assets, **arguments):
        arguments = {"resources": {"pravega_arrow": manager}} | arguments
        others = arguments.pop("others", [])
        result = dg.materialize(
            [pravega_stream_spec(str(stream)), assets, *others],
            selection=[*assets.keys, *(each.key for each in others if isinstance(each, dg.AssetsDefinition))],
            instance=instance,
            raise_on_error=False,
            **arguments,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        made = [event.materialization for event in result.get_asset_materialization_events()]
        plain = [{name: value.value for name, value in each.metadata.items()} for each in made]
        return dict(zip((each.asset_key.to_user_string() for each in made), plain, strict=True))

    return run


@pytest.fixture
def split(stream, sinks):
    """Makes the assets; counts the calls of their function."""

    def split(**given):
        calls = given.pop("calls", [])

        def divide(orders: pl.LazyFrame) -> dict[str, Any]:
            calls.append(1)
            few = pl.col("id") < 2
            last = orders.group_by("region").agg(pl.col("id").max())
            return {
                "few": orders.filter(few),
                "many": orders.filter(~few),
                "lake/all": orders,
                "lake/last": RowsByKey(last, ["region"], {"order_by": ()}),
            }

        return build_several_sinks(
            pravega_stream_spec(str(stream)),
            given.pop("divide", divide),
            name="split",
            **{"into": sinks} | READ | given,
        )

    return split


@pytest.fixture
def ids(contents):
    return lambda name: sorted(json.loads(each)["id"] for each in contents(StreamName.parse(name)))


def test_all_sinks_get_their_rows_by_one_write(run, split, order, sinks, ids, client, stream):
    assets = split()
    order(*((number, "east" if number % 2 else "west") for number in range(5)))
    first = run(assets)
    write_id = first["few"]["pravega/write_id"]
    assert {each["pravega/write_id"] for each in first.values()} == {write_id}
    assert write_id.startswith(f"{OWNER} run ")
    counts = {"few": 2, "many": 3, "lake/all": 5, "lake/last": 2}
    assert {key: each["pravega/sinks"] for key, each in first.items()} == dict.fromkeys(counts, counts)
    assert (first["many"]["pravega/events"], first["many"]["pravega/consumer"]) == (3, OWNER)
    assert (first["lake/all"]["pravega/rows"], first["lake/last"]["dagster/row_count"]) == (5, 2)
    record = client.visible_write(sinks["many"], write_id)
    assert [str(each) for each in record.streams] == [sinks["few"], sinks["many"]]
    assert {each.target for each in record.tables} == {sinks["lake/all"], sinks["lake/last"]}
    order((7, "east"))
    second = run(assets)
    assert second["few"]["pravega/sinks"] == {"few": 0, "many": 1, "lake/all": 1, "lake/last": 1}
    assert (ids(sinks["few"]), ids(sinks["many"])) == ([0, 1], [2, 3, 4, 7])
    assert second["lake/last"]["dagster/row_count"] == 2
    assert all(each.is_done for each in client.cut_ledger(stream.scope).records(OWNER, stream))


def test_a_run_killed_after_its_write_is_found_by_the_next_run(run, split, order, sinks, ids, client, stream, instance):
    assets = split()
    order((0, "east"), (5, "west"))
    run(assets)
    ledger = client.cut_ledger(stream.scope)
    [record] = ledger.records(OWNER, stream)
    assert {part.sink.target for part in record.parts} == {sinks["few"]}
    ledger.reopen(record.identity, "its run has been killed")
    ledger.expect(record.identity, [part.name for part in record.parts], claimant=record.claimant)
    for part in record.parts:
        ledger.declare(record.identity, part.name, part.sink)
    instance.delete_run(record.claimant.run)
    order((6, "west"))
    assert run(assets)["many"]["pravega/events"] == 1
    assert (ids(sinks["few"]), ids(sinks["many"])) == ([0], [5, 6])
    assert sum(each.rows for each in holdings(sinks["lake/all"])) == 3


def test_a_partition_is_written_once_and_other_rows_need_a_generation(run, split, order, sinks, ids):
    order((0, "east"), (5, "west"))
    days = dg.StaticPartitionsDefinition(["monday"])
    calls: list[int] = []

    def work(**given: Any) -> Any:
        config = {"ops": {"split": {"inputs": {"events": WHOLE}}}}
        return run(split(partitions_def=days, calls=calls, **given), partition_key="monday", run_config=config)

    first = work()
    assert first["few"]["pravega/write_id"] == f"{OWNER} monday"
    assert first["lake/all"]["dagster/partition_row_count"] == 2
    assert work()["many"]["pravega/sinks"] == first["many"]["pravega/sinks"]
    assert (len(calls), ids(sinks["few"]), ids(sinks["many"])) == (2, [0], [5])

    def all_rows(orders: pa.Table) -> dict[str, pa.Table]:
        return dict.fromkeys(sinks, orders)

    del sinks["lake/last"]
    assert "SinksError" in work(divide=all_rows)
    assert ids(sinks["few"]) == [0]


def test_the_next_generation_replaces_rows_in_tables_and_adds_to_streams(run, split, order, sinks, ids):
    order((0, "east"), (5, "west"))
    days, config = dg.StaticPartitionsDefinition(["monday"]), {"ops": {"split": {"inputs": {"events": WHOLE}}}}
    del sinks["lake/last"]

    def work(divide: Any, **tags: str) -> Any:
        assets = split(partitions_def=days, divide=divide)
        return run(assets, partition_key="monday", run_config=config, tags=tags)

    def all_rows(orders: pa.Table) -> dict[str, pa.Table]:
        return dict.fromkeys(sinks, orders)

    def first_rows(orders: pa.Table) -> dict[str, pa.Table]:
        return dict.fromkeys(sinks, orders[:1])

    work(all_rows)
    assert "WriteIdReusedError" in work(first_rows)
    again = work(first_rows, **{"pravega/rebuild": "2"})
    assert (again["few"]["pravega/generation"], again["lake/all"]["pravega/rows"]) == (2, 1)
    assert (ids(sinks["many"]), [each.rows for each in holdings(sinks["lake/all"])]) == ([0, 0, 5], [1])


def test_a_column_divides_rows_and_its_neighbours_have_their_lineage(run, order, sinks, contents, stream):
    into = {"east": sinks["few"], "west": sinks["many"]}
    assets = build_several_sinks(str(stream).split("/"), "region", name="split", into=into, key_prefix="by", **READ)
    order((1, "east"), (2, "west"), (3, "west"))
    done = run(assets)
    assert {key: each["pravega/events"] for key, each in done.items()} == {"by/east": 1, "by/west": 2}
    assert contents(StreamName.parse(into["west"])) == ['{"id":2}', '{"id":3}']
    [column] = done["by/east"]["dagster/column_schema"].columns
    lineage = done["by/east"]["dagster/column_lineage"].deps_by_column
    assert (column.name, [each.asset_key.path[-1] for each in lineage["id"]]) == ("id", ["rides"])
    order((4, "north"))
    assert "has 'north' in column 'region', for which no stream is given" in run(assets)


def test_an_asset_reads_what_its_run_has_written(run, split, order):
    order((0, "east"), (4, "west"), (5, "west"))
    read: list[int] = []

    @dg.asset(
        ins={
            "many": dg.AssetIn(
                input_manager_key="pravega_arrow", metadata={"pravega/options": JSON, "pravega/columns": "id long"}
            )
        }
    )
    def numbers(many: StreamBatches) -> dg.MaterializeResult[None]:
        read.extend(many.reader.read_all()["id"].to_pylist())
        return many.done()

    for _ in range(2):
        done = run(split(), others=[numbers])
        assert done["numbers"]["pravega/events"] == len(read)
        order((6, "west"))
        assert sorted(read) in ([4, 5], [6])
        read.clear()


def test_rows_with_errors_are_letters_of_the_same_write(run, split, order, sinks, contents, client, stream, scope):
    sinks.pop("lake/all")
    sinks.pop("lake/last")
    order((0, "east"), (5, "west"))
    with client.writer(stream) as writer:
        writer.write(b"no json")

    def divide(orders: pl.LazyFrame) -> dict[str, pl.LazyFrame]:
        few = pl.col("id") < 2
        return {"few": orders.filter(few), "many": orders.filter(~few | pl.col("id").is_null())}

    options = JSON | {"on_error": "dead"}
    given = {"divide": divide, "options": options, "errors": f"stream:{scope}/dead"}
    assert "TooManyErrorsError" in run(split(most_errors="10%", **given))
    done = run(split(most_errors="50%", **given))
    assert [done[each]["pravega/errors"] for each in sinks] == [0, 1]
    [letter] = map(json.loads, contents(StreamName(scope, "dead")))
    assert (letter["_consumer"], letter["reason"] != "") == (OWNER, True)


def test_what_a_column_cannot_divide_belongs_to_the_stream_that_is_named(
    run, order, sinks, contents, client, stream, scope
):
    into = {"east": sinks["few"], "west": sinks["many"]}
    order((1, "east"), (2, "west"))
    with client.writer(stream) as writer:
        writer.write(b"no json")
    given = {"columns": READ["columns"], "options": JSON | {"on_error": "dead"}, "errors": f"stream:{scope}/dead"}
    spec = pravega_stream_spec(str(stream))

    assert "name the stream that such errors belong to" in run(
        build_several_sinks(spec, "region", name="split", into=into, **given)
    )
    done = run(build_several_sinks(spec, "region", name="split", into=into, errors_of="west", **given))
    assert [done[each]["pravega/errors"] for each in into] == [0, 1]
    assert [column.name for column in done["west"]["dagster/column_schema"].columns] == ["id"]
    assert [json.loads(each)["reason"] != "" for each in contents(StreamName(scope, "dead"))] == [True]


def test_a_day_of_event_times_is_an_interval_of_all_sinks(run, sinks, client, scope, contents):
    timed = write_days(client, scope)
    into = {"day": sinks["few"], "lake": sinks["lake/all"]}

    def both(events: pa.Table) -> dict[str, pa.Table]:
        return dict.fromkeys(into, events)

    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    assets = build_several_sinks(spec, both, name="days", into=into, partitions_def=DAYS)
    for day in (1, 2):
        done = run(assets, partition_key=key(day), others=[spec])
        assert done["lake"]["dagster/partition_row_count"] == len(HOURS)
        assert done["day"]["pravega/write_id"] == f"dagster/sinks days {interval_of(day)}"
    found = sorted(json.loads(each)["at"] for each in contents(StreamName.parse(into["day"])))
    assert found == sorted(at(day, hour) for hour in HOURS for day in (1, 2))


@pytest.mark.parametrize(("made", "found"), [([], "list"), ({"few": pa.table({"id": [1]})}, r"['few']")])
def test_other_results_are_refused_before_anything_is_written(run, split, made, found, sinks, ids):
    assert f"the function has returned {found}, but must return a mapping with rows" in run(
        split(divide=lambda _: made)
    )
    assert ids(sinks["few"]) == []


def test_the_code_of_the_page_divides_what_came(client, scope, pravega_config, tmp_path, monkeypatch, instance):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    code = block_with("several-sinks", "build_several_sinks(").code.replace("examples/", f"{scope}/")
    for name in ("flights", "punctual", "delayed"):
        client.create_stream(f"{scope}/{name}")
    with client.writer(f"{scope}/flights") as writer:
        writer.write_many([json.dumps({"carrier": "AA", "delay": delay}).encode() for delay in (5, 60, 90)])
    names: dict[str, Any] = {}
    exec(code.replace("/data", str(tmp_path)), names)
    done = names["defs"].resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
    events = done.get_asset_materialization_events()
    assert {event.asset_key.to_user_string() for event in events} == {"punctual", "delayed", "lake/flights"}
    counts = {"punctual": 1, "delayed": 2, "lake/flights": 3}
    assert [event.materialization.metadata["pravega/sinks"].value for event in events] == [counts] * 3
