"""Whose ranges inputs and checks take: this run's own, under names that no selection and no neighbour changes."""

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from aiopravega import StreamCutRange, StreamName
from aiopravega.ledger import Interval
from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    build_row_count_check,
    pravega_stream_spec,
)

LAST = {"pravega/since": "last"}


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def resources(pravega_config):
    pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
    return {"pravega": pravega, "io": PravegaArrowIOManager(pravega=pravega)}


@pytest.fixture
def failure_of():
    """The error of the only step of a run that failed."""

    def failure_of(result):
        [failure] = result.get_step_failure_events()
        return f"{failure.step_failure_data.user_failure_data} {failure.step_failure_data.error}"

    return failure_of


def read(table):
    return sorted(bytes(each).decode() for each in table["event"].to_pylist())


def of_events(*events):
    return pa.table({"event": list(events)})


def writer(stream, partitions=None):
    """The asset `up`: it writes the words in the run's tag `rows`."""

    @dg.asset(io_manager_key="io", metadata={"pravega/stream": str(stream)}, partitions_def=partitions)
    def up(context) -> pa.Table:
        return of_events(*context.run.tags["rows"].split())

    return up


def test_an_input_takes_what_its_own_run_wrote(make_stream, resources, instance):
    found, up = [], writer(make_stream())

    @dg.asset(deps=[up])
    def meanwhile():
        assert dg.materialize([up], resources=resources, instance=instance, tags={"rows": "c"}).success

    @dg.asset(deps=[meanwhile], ins={"up": dg.AssetIn(input_manager_key="io")})
    def down(up: pa.Table) -> None:
        found.append(read(up))

    assets = [up, meanwhile, down]
    assert dg.materialize(assets, resources=resources, instance=instance, tags={"rows": "a b"}).success
    assert dg.materialize(assets, selection=[down], resources=resources, instance=instance).success
    assert found == [["a", "b"], ["c"]]


def test_a_check_judges_the_partition_of_its_run(make_stream, resources, instance, failure_of):
    stream, partitions = make_stream(), dg.StaticPartitionsDefinition(["bad", "good", "new"])
    up = writer(stream, partitions)
    count = build_row_count_check(up, stream=str(stream), min_rows=2)

    def run(key, *rows, checks=True, only=None):
        return dg.materialize(
            [up, count] if checks else [up],
            selection=only,
            resources=resources,
            instance=instance,
            tags={"rows": " ".join(rows), "dagster/partition": key},
            raise_on_error=False,
        )

    def judgement(result):
        [evaluation] = result.get_asset_check_evaluations()
        return evaluation.passed, evaluation.metadata["pravega/events"].value

    assert judgement(run("bad", "a")) == (False, 1)
    assert run("good", "b", "c", checks=False).success
    only = dg.AssetSelection.checks(count)
    assert judgement(run("bad", only=only)) == (False, 1)
    assert judgement(run("good", only=only)) == (True, "at least 2")
    assert "has materialized partition 'new' of up" in failure_of(run("new", only=only))


def test_a_range_with_events_of_others_is_refused(client, make_stream, append, resources, instance, failure_of):
    stream = make_stream()
    append(stream, ["a", "of another"])
    whole = StreamCutRange(client.head(stream), client.tail(stream))
    known: dict[str, Any] = {
        "pravega/cuts": whole.to_json(),
        "pravega/write_id": "dagster/up/run 1",
        "pravega/bytes": 9,
    }
    instance.report_runless_asset_event(dg.AssetMaterialization("up", metadata=known))

    @dg.asset(ins={"up": dg.AssetIn(input_manager_key="io")})
    def down(up: pa.Table) -> None:
        pass

    up = dg.AssetSpec("up", metadata={"pravega/stream": str(stream)})
    result = dg.materialize([up, down], resources=resources, instance=instance, raise_on_error=False)
    assert "the write of up has 9 bytes, and between its cuts are" in failure_of(result)


@pytest.fixture
def source(make_stream, append):
    stream = make_stream()
    append(stream, ["a", "b"])
    return pravega_stream_spec(str(stream), key="source")


@pytest.fixture
def consumers(client, source):
    """The consumers of the source that the cut ledger has ranges of, with what each has got."""
    stream = client_stream(source)

    def consumers(*names):
        ledger = client.cut_ledger(stream.scope)
        found = {name: ledger.records(name, stream) for name in names}
        return {name: [record.state.value for record in records] for name, records in found.items() if records}

    return consumers


def client_stream(source):
    return StreamName.parse(source.metadata["pravega/stream"])


def test_no_selection_changes_the_name_of_a_consumer(source, resources, instance, consumers):
    found = []

    @dg.multi_asset(
        outs={name: dg.AssetOut(dagster_type=dg.Nothing, is_required=False) for name in ("one", "two")},
        ins={"events": dg.AssetIn("source", input_manager_key="io", metadata=LAST)},
        can_subset=True,
    )
    def both(context, events: pa.Table):
        found.append(read(events))
        for key in context.selected_asset_keys:
            yield dg.Output(None, key.to_user_string())

    for selection in (["one"], None, ["two"]):
        assert dg.materialize([source, both], selection=selection, resources=resources, instance=instance).success
    assert found == [["a", "b"], [], []]
    assert consumers("dagster/one, two", "dagster/one", "dagster/two") == {"dagster/one, two": ["done"] * 3}


def test_ops_of_graphs_and_jobs_have_names_of_their_own(source, resources, instance, consumers):
    found: dict[str, list[list[str]]] = {}
    stream = client_stream(source)
    since_last = dg.In(input_manager_key="io", metadata={**LAST, "pravega/stream": str(stream)})

    def graph_asset(name):
        @dg.op(name=f"extract_{name}", ins={"events": dg.In(metadata=LAST)})
        def extract(events: pa.Table) -> Any:
            found.setdefault(name, []).append(read(events))
            return events.num_rows

        @dg.op(name=f"load_{name}")
        def load(rows: int) -> int:
            return rows

        @dg.graph_asset(name=name, ins={"source": dg.AssetIn("source")})
        def made(source):
            return load(extract(source))

        return made

    @dg.op(ins={"events": since_last, "again": since_last})
    def copy(events: pa.Table, again: pa.Table) -> None:
        found["copy"] = [read(events), read(again)]

    @dg.job(resource_defs=resources)
    def copies():
        copy.alias("first")()

    first, second = graph_asset("first"), graph_asset("second")
    loaded = source.with_io_manager_key("io")
    assert dg.materialize([loaded, first, second], resources=resources, instance=instance).success
    assert copies.execute_in_process(instance=instance).success
    assert found == {"first": [["a", "b"]], "second": [["a", "b"]], "copy": [["a", "b"], ["a", "b"]]}
    names = [f"dagster/{name}/extract_{name}.events" for name in ("first", "second")]
    names += [f"dagster/job copies/first.{name}" for name in ("events", "again")]
    assert consumers("dagster/", *names) == {name: ["done"] for name in names}


def test_a_chain_of_an_earlier_release_is_continued_by_name(source, client, append, resources, instance, failure_of):
    stream, found = client_stream(source), []
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    old = ledger.record(
        Interval("dagster/", stream, "run of an earlier release"),
        StreamCutRange(client.head(stream), client.tail(stream)),
        None,
    )
    ledger.finish(old.identity)
    append(stream, ["c"])

    def run(**more):
        @dg.op(ins={"events": dg.In(input_manager_key="io", metadata={**LAST, **more, "pravega/stream": str(stream)})})
        def copy(events: pa.Table) -> None:
            found.append(read(events))

        @dg.job(resource_defs=resources)
        def copies():
            copy()

        return copies.execute_in_process(instance=instance, raise_on_error=False)

    refusal = failure_of(run())
    assert "for 'dagster/', which an earlier release named this input" in refusal
    assert "{'pravega/consumer': 'dagster/'}" in refusal
    assert run(**{"pravega/consumer": "dagster/"}).success
    assert run(**{"pravega/consumer": "dagster/job copies/copy.events"}).success
    append(stream, ["d"])
    assert run().success
    assert found == [["c"], ["a", "b", "c"], ["d"]]


def test_values_load_outside_of_steps_or_say_why_not(make_stream, source, resources, instance):
    up = writer(make_stream("up"))
    assert dg.materialize([up], resources=resources, instance=instance, tags={"rows": "x y"}).success
    defs = dg.Definitions([up, source], resources=resources)
    assert read(defs.load_asset_value("up", instance=instance)) == ["x", "y"]

    def load(**context):
        with dg.build_resources(resources, instance=instance) as opened:
            return opened.io.load_input(dg.build_input_context(asset_key=dg.AssetKey("source"), **context))

    upstream = dg.build_output_context(asset_key=dg.AssetKey("source"), definition_metadata=source.metadata)
    assert read(load(upstream_output=upstream, instance=instance)) == ["a", "b"]
    with pytest.raises(dg.Failure, match="without an instance of Dagster"):
        load(upstream_output=upstream)
    with pytest.raises(dg.Failure, match="belongs to a run"):
        load(upstream_output=upstream, instance=instance, definition_metadata=LAST)
    with dg.build_resources(resources, instance=instance) as opened, pytest.raises(dg.Failure, match="outside of a st"):
        opened.io.handle_output(dg.build_output_context(asset_key=up.key), of_events("z"))
