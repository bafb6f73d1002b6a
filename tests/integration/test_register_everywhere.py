"""One list of schemas through every public way to register: what one way refuses, all refuse, with the same findings.

Spark's way is its own plan of a write, and the data source itself for one schema of each format that passes and one
that does not.
"""

import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from tests.integration.registering.cases import CASES, FOREIGN, RECURSIVE, TEXT_ID, Case
from tests.integration.registering.ways import (
    WAYS,
    WAYS_FOR_COLUMNS,
    Finding,
    Surroundings,
    Way,
    by_the_door,
    error_of,
    findings_in,
)

from aiopravega import StreamName
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.commands.main import main
from aiopravega.errors import GroupNotFoundError, PravegaError, SchemaRefusedError
from aiopravega.schema import GroupProperties, RegistryConfig, SchemaFormat
from pravega_jobs.retries import error_in

pytestmark = pytest.mark.xdist_group("pyspark_pravega")

POLICIES = [None, *(pytest.param(policy, marks=pytest.mark.slow) for policy in ("Forward", "AllowAny"))]
Outcome = tuple[str, frozenset[Finding]]


@pytest.fixture
def around(client, pravega_config, pravega_emulator, tmp_path, capsys, monkeypatch) -> Iterator[Surroundings]:
    uri = pravega_emulator.schema_registry_uri
    address = pravega_config.controller_uri.removeprefix("tcp://").split(":")
    connection = {"conn_type": "pravega", "host": address[0], "port": int(address[1])}
    monkeypatch.setenv(
        "AIRFLOW_CONN_PRAVEGA_DEFAULT", json.dumps({**connection, "extra": {"schema_registry_uri": uri}})
    )
    with SchemaRegistry(RegistryConfig(uri=uri)) as registry:
        yield Surroundings(client, registry, uri, pravega_config, tmp_path, capsys)


def outcome_of(way: Way, around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> Outcome:
    try:
        way(around, stream, case, policy)
    except (PravegaError, AirflowFailException, dg.Failure) as raised:
        text = raised.description or "" if isinstance(raised, dg.Failure) else str(raised)
        error = raised if isinstance(raised, PravegaError) else error_of(text)
        return type(error).__name__, findings_in(str(error))
    return "registered", frozenset()


def outcomes_of(
    way: Way, around: Surroundings, form: SchemaFormat, policy: str | None, exists: bool
) -> tuple[dict[str, Outcome], Any]:
    """The result for each schema, one after the other, and the group."""
    stream = StreamName(f"test-{uuid.uuid4().hex}", "orders")
    asked = policy
    if exists:
        around.registry.create_group(stream.stream, GroupProperties.of(form, policy), stream.scope)
        asked = "DenyAll"  # which is for a new group only
    cases = [*CASES[form], Case("foreign", FOREIGN[form].schema, FOREIGN[form].columns), CASES[form][0]]
    found = {f"{number} {case.name}": outcome_of(way, around, stream, case, asked) for number, case in enumerate(cases)}
    with suppress(GroupNotFoundError):
        group = around.registry.group(stream.stream, stream.scope)
        kept = [version.schema_info.schema_data for version in around.registry.versions(stream.stream, stream.scope)]
        return found, (group.format, group.compatibility, kept)
    return found, None


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "policy", [None, *(pytest.param(each, marks=pytest.mark.slow) for each in ("Forward", "AllowAny"))]
)
@pytest.mark.parametrize("exists", [False, True], ids=["new group", "existing group"])
@pytest.mark.parametrize("form", CASES)
def test_all_ways_to_register_refuse_with_the_same_findings(around, form, exists, policy):
    expected = outcomes_of(by_the_door, around, form, policy, exists)
    assert expected[1][1].policy == (policy or "BackwardTransitive")
    refused = {name for name, (what, _) in expected[0].items() if what != "registered"}
    assert any("foreign" in name for name in refused)
    assert (len(refused) == 1) == (policy == "AllowAny")
    for way in WAYS:
        assert outcomes_of(way, around, form, policy, exists) == expected, way.__name__


@pytest.mark.parametrize("way", WAYS_FOR_COLUMNS)
def test_a_schema_that_columns_cannot_hold_is_refused_if_they_are_needed(around, way):
    stream = StreamName(f"test-{uuid.uuid4().hex}", "orders")

    with pytest.raises((SchemaRefusedError, AirflowFailException), match="column-recursion"):
        way(replace(around, as_columns=True), stream, RECURSIVE, None)
    assert outcome_of(way, around, stream, RECURSIVE, None)[0] == "registered"


def test_the_command_checks_a_schema_of_a_group_for_columns(around):
    stream = StreamName(f"test-{uuid.uuid4().hex}", "orders")
    by_the_door(around, stream, CASES[SchemaFormat.AVRO][0], None)
    words = ["schema", "check", "--group", stream.stream, "--namespace", stream.scope, "--registry", around.uri]
    words += ["--new", around.file(RECURSIVE)]

    assert main(words) == 0
    assert main([*words, "--as-columns"]) == 1
    assert "column-recursion" in around.capsys.readouterr().out


@pytest.mark.parametrize("form", CASES)
def test_the_spark_data_source_refuses_the_same_schemas(around, spark, make_orders, form):
    first, *_, bad = CASES[form]
    stream = make_orders
    by_the_door(around, stream, first, "Full")

    def write(case: Case) -> None:
        kind = "string" if case.columns == (TEXT_ID,) else "bigint"
        frame = spark.range(1, numPartitions=1).selectExpr(f"cast(id as {kind}) as id")
        frame.write.format("pravega").mode("append").options(
            controller=around.config.controller_uri,
            scope=stream.scope,
            stream=stream.stream,
            encode=form.lower(),
            schema_file=around.file(case),
            schema_registry_uri=around.uri,
            new_policy="AllowAny",
        ).save()

    write(first)
    with pytest.raises(SchemaRefusedError) as expected:
        by_the_door(around, stream, bad, None)
    with pytest.raises(Exception, match="refused") as raised:
        write(bad)

    assert isinstance(error_in(raised.value), SchemaRefusedError)
    assert findings_in(str(raised.value)) == findings_in(str(expected.value)) != frozenset()


@pytest.fixture
def make_orders(client, scope) -> StreamName:
    """A stream of the test's own."""
    assert client.create_stream(f"{scope}/orders")
    return StreamName(scope, "orders")
