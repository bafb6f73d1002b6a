"""The Dagster examples run: exactly one range becomes files, twice the same bytes, and delays are written once."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient

pytestmark = pytest.mark.xdist_group("dagster_pravega")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "example_dags" / "dagster"
CARRIERS = ("AA", "UA", "B6")
DELAYS = [
    {"day": "2013-01-02", "carrier": carrier, "flights": 10, "departed": 9, "delay_minutes": 36.0}
    for carrier in CARRIERS
]


def flights(day: int) -> list[dict[str, object]]:
    """Ten flights per carrier; each is as many minutes late as its number says, and the last one is cancelled."""
    return [
        {
            "departure": f"2013-01-{day:02}T05:{number:02}:00",
            "carrier": carrier,
            "flight": number,
            "origin": "EWR",
            "dest": "IAH",
            "dep_delay": None if number == 9 else float(number),
        }
        for carrier in CARRIERS
        for number in range(10)
    ]


def plain(materialization: dg.AssetMaterialization) -> dict[str, Any]:
    """The metadata of a materialization, as plain values."""
    return {name: entry.value for name, entry in materialization.metadata.items()}


@pytest.fixture
def scope(pravega_config, monkeypatch):
    """A scope of the test's own, which the example reads from the environment."""
    name = f"example-{uuid4().hex}"
    with PravegaClient(pravega_config) as client:
        client.create_scope(name)
        client.create_stream(f"{name}/flights", ScalingPolicy.fixed(4))
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    monkeypatch.setenv("FLIGHTS_STREAM", f"{name}/flights")
    monkeypatch.setenv("DELAYS_STREAM", f"{name}/delays")
    return name


def loaded(name: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An example's module, loaded again for the streams of this scope."""
    monkeypatch.syspath_prepend(ROOT)
    spec = spec_from_file_location(f"{name}_example", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where pydantic looks for the module of a class
    spec.loader.exec_module(module)
    assert f"{scope}/flights" == module.FLIGHTS
    return module


def write_days(client: PravegaClient, stream: StreamName) -> StreamCutRange:
    """Write the flights of three days; returns the range of the second one."""
    cuts = []
    for day in (1, 2, 3):
        with client.transaction(stream) as transaction:
            events = flights(day)
            transaction.write_many(
                [json.dumps(flight).encode() for flight in events], [str(flight["carrier"]) for flight in events]
            )
        cuts.append(client.tail(stream))
    return StreamCutRange(cuts[0], cuts[1])


def delays_of(client: PravegaClient, run: dg.ExecuteInProcessResult, scope: str) -> list[dict[str, Any]]:
    """The events that a run has written to the stream of delays, by their carriers."""
    [written] = [
        event.materialization
        for event in run.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey([scope, "delays"])
    ]
    found = StreamCutRange.from_json(plain(written)["pravega/cuts"])
    delays: list[dict[str, Any]] = [json.loads(event.data) for event in client.read(found)]
    return sorted(delays, key=lambda delay: CARRIERS.index(delay["carrier"]))


def part_files(folder: Path) -> list[bytes]:
    """The contents of the files that Spark wrote, in the order of their parts."""
    return [path.read_bytes() for path in sorted(folder.glob("part-*"))]


def test_the_example_materializes_exactly_one_range(scope, monkeypatch, pravega_config, tmp_path):
    example, stream = loaded("flights_delays", scope, monkeypatch), StreamName(scope, "flights")
    with PravegaClient(pravega_config) as client, dg.DagsterInstance.ephemeral() as instance:
        second_day = write_days(client, stream)

        def run(folder: Path) -> dg.ExecuteInProcessResult:
            definitions: dg.Definitions = example.defs
            return definitions.resolve_implicit_global_asset_job_def().execute_in_process(
                run_config=example.run_config(second_day.to_json(), str(folder)), instance=instance
            )

        first, again = run(tmp_path / "first"), run(tmp_path / "again")

        assert part_files(tmp_path / "first" / "flights") == part_files(tmp_path / "again" / "flights") != []
        [files] = first.asset_materializations_for_node("flights_files")
        metadata = plain(files)
        assert metadata["pravega/cuts"] == second_day.to_json()
        assert metadata["pravega/events"] == 30
        assert metadata["pravega/bytes"] == client.distance(second_day.start, second_day.end)
        assert metadata["pravega/events_per_second"] > 0

        assert delays_of(client, first, scope) == DELAYS
        assert again.success
        everything = StreamCutRange(UNBOUNDED, UNBOUNDED)
        assert len(list(client.read(everything, StreamName(scope, "delays")))) == 2 * len(CARRIERS)


def test_the_example_without_spark_gives_the_same_delays(scope, monkeypatch, pravega_config):
    example, stream = loaded("flights_polars", scope, monkeypatch), StreamName(scope, "flights")
    with PravegaClient(pravega_config) as client, dg.DagsterInstance.ephemeral() as instance:
        client.create_stream(f"{scope}/delays")
        second_day = write_days(client, stream)
        definitions: dg.Definitions = example.defs
        run = definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            run_config=example.run_config(second_day.to_json()), instance=instance
        )
        assert delays_of(client, run, scope) == DELAYS
