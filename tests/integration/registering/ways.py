"""Every public way to register a schema for a stream, as a function that raises what the way reports."""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import dagster as dg
import pyarrow as pa
import pytest
from tests.integration.registering.cases import Case

from aiopravega import PravegaConfig, StreamName
from aiopravega.blocking import PravegaClient, blocks, serializers
from aiopravega.blocking.catalog import PravegaCatalog
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.commands.main import main
from aiopravega.errors import PravegaError, SchemaRefusedError
from aiopravega.gates import check_schema
from aiopravega.schema import GroupProperties, SchemaFormat
from aiopravega.schema.open import register_schema
from airflow_pravega.operators.schema import PravegaRegisterSchemaOperator, PravegaSchemaGateOperator
from dagster_pravega import SchemaRegistryResource, build_schema_gate
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.retries import error_named
from pyspark_pravega.encode.encode_options import ENCODE_OPTIONS, EncodeOptions
from pyspark_pravega.encode.planning import encode_plan

SUFFIXES = {SchemaFormat.AVRO: ".avsc", SchemaFormat.JSON: ".json", SchemaFormat.PROTOBUF: ".desc"}


class Finding(NamedTuple):
    """A line of a report."""

    version: str
    direction: str
    path: str
    rule: str


_LINE = re.compile(r"^(\d+) +(backward|forward) +(\S+) +(\S+)", re.MULTILINE)


def error_of(text: str) -> PravegaError:
    """An error out of its text."""
    name, _, message = text.partition(": ")
    return error_named(name, message)


def findings_in(text: str) -> frozenset[Finding]:
    return frozenset(Finding(*line) for line in _LINE.findall(text))


@dataclass
class Surroundings:
    """What the ways need. `as_columns` is asked of those that know it."""

    client: PravegaClient
    registry: SchemaRegistry
    uri: str
    config: PravegaConfig
    folder: Path
    capsys: pytest.CaptureFixture[str]
    as_columns: bool = False

    def file(self, case: Case) -> str:
        path = self.folder / f"{uuid.uuid4().hex}{SUFFIXES[case.schema.format]}"
        path.write_bytes(case.schema.schema_data)
        return str(path)


def by_the_door(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    registry = around.registry
    registry.run(
        register_schema(registry.asynchronous, stream, case.schema, new_policy=policy, as_columns=around.as_columns)
    )


def by_the_client(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    properties = GroupProperties.of(case.schema.format, policy)
    around.registry.create_group(stream.stream, properties, stream.scope)
    around.registry.add_schema(stream.stream, case.schema, stream.scope)


def by_a_serializer(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    serializers.open_serializer(around.registry, stream.stream, case.form, namespace=stream.scope, new_policy=policy)


def by_serializers_of_several_types(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    serializers.open_multi_serializer(
        around.registry, stream.stream, [case.form], namespace=stream.scope, new_policy=policy
    )


def by_a_serializer_of_blocks(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    columns = pa.schema(case.columns)
    blocks.open_block_serializer(
        around.registry, stream.stream, case.schema, columns, namespace=stream.scope, new_policy=policy
    )


def by_a_gate(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    registry, (scope, group) = around.registry, (stream.scope, stream.stream)
    checked = check_schema(
        registry.asynchronous,
        group,
        case.schema,
        namespace=scope,
        as_columns=around.as_columns,
        register=True,
        new_policy=policy,
    )
    registry.run(checked).require()


def by_the_catalog(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    around.client.create_scope(stream.scope)
    around.client.delete_stream(stream)
    PravegaCatalog(around.client, around.registry).create(stream, case.schema, new_policy=policy)


def by_the_command_line(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    words = ["schema", "register", str(stream), "--new", around.file(case), "--registry", around.uri]
    words += ["--as-columns"] if around.as_columns else []
    around.capsys.readouterr()
    code = main(words if policy is None else [*words, "--new-policy", policy])
    said = around.capsys.readouterr()
    if code == 1:
        raise SchemaRefusedError(said.out)
    if code:
        raise error_of(said.err.removeprefix("error: "))


def by_spark_s_plan(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    given = {
        "encode": case.schema.format.lower(),
        "schema_file": around.file(case),
        "schema_registry_uri": around.uri,
        **({} if policy is None else {"new_policy": policy}),
    }
    options = EncodeOptions.parse(Options(given, ENCODE_OPTIONS, "a write"), decodes=False)
    encode_plan(options, around.config, stream, pa.schema(case.columns))


def by_airflow_s_registration(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    PravegaRegisterSchemaOperator(
        task_id="register",
        stream=str(stream),
        candidate=around.file(case),
        new_policy=policy,
        as_columns=around.as_columns,
    ).execute({"ti": SimpleNamespace(xcom_push=lambda **_: None)})  # type: ignore[typeddict-item]  # for its link


def by_airflow_s_gate(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    class Task:
        """What Airflow gives to a task: here, where its result goes."""

        def xcom_push(self, key: str, value: Any) -> None:
            if key != "return_value":  # the task's link
                return
            violations = value["violations"]
            raise SchemaRefusedError(
                "\n".join(" ".join(str(violation[k]) for k in Finding._fields) for violation in violations)
            )

    PravegaSchemaGateOperator(
        task_id="gate",
        stream=str(stream),
        candidate=around.file(case),
        register=True,
        new_policy=policy,
        as_columns=around.as_columns,
    ).execute({"ti": Task()})  # type: ignore[typeddict-item]  # all that the gate uses of it


def by_dagster_s_gate(around: Surroundings, stream: StreamName, case: Case, policy: str | None) -> None:
    gate = build_schema_gate(
        "orders",
        stream=str(stream),
        candidate=case.schema,
        register=True,
        new_policy=policy,
        as_columns=around.as_columns,
    )
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_asset_check_context(instance=instance)
        result = gate(context, schema_registry=SchemaRegistryResource(uri=around.uri))
    assert isinstance(result, dg.AssetCheckResult)
    if not result.passed:
        table = result.metadata["pravega/violations"]
        assert isinstance(table, dg.TableMetadataValue)
        raise SchemaRefusedError(
            "\n".join(" ".join(str(record.data[key]) for key in Finding._fields) for record in table.records)
        )


Way = Callable[[Surroundings, StreamName, Case, str | None], None]
WAYS: tuple[Way, ...] = (
    by_the_client,
    by_a_serializer,
    by_serializers_of_several_types,
    by_a_serializer_of_blocks,
    by_a_gate,
    by_the_catalog,
    by_the_command_line,
    by_spark_s_plan,
    by_airflow_s_registration,
    by_airflow_s_gate,
    by_dagster_s_gate,
)
WAYS_FOR_COLUMNS: tuple[Way, ...] = (
    by_the_door,
    by_a_gate,
    by_the_command_line,
    by_airflow_s_registration,
    by_airflow_s_gate,
    by_dagster_s_gate,
)
