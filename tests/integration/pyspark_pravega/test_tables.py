"""Streams as tables of Spark's catalog: made by SQL, read afresh by each query, without secrets for others to see."""

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import AlreadyExistsError, ConfigurationError, ScopeNotFoundError
from aiopravega.schema import GroupProperties, RegistryConfig, SchemaFormat, SchemaInfo, header
from pyspark_pravega import register_scope
from pyspark_pravega.catalog import RegisteredStream

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}


@pytest.fixture
def database(spark):
    """A database of the test's own."""
    name = f"db_{uuid.uuid4().hex}"
    spark.sql(f"CREATE DATABASE {name}")
    yield name
    spark.sql(f"DROP DATABASE {name} CASCADE")


@pytest.fixture
def create(spark, pravega_config, database):
    """Makes a table of a stream by SQL."""

    def create(stream, more: str = "", columns: str = "") -> str:
        table = f"{database}.orders"
        spark.sql(
            f"CREATE TABLE {table} {columns} USING pravega OPTIONS (controller '{pravega_config.controller_uri}', "
            f"scope '{stream.scope}', stream '{stream.stream}' {more})"
        )
        return table

    return create


def shown(spark, statement: str) -> str:
    return "\n".join(str(row) for row in spark.sql(statement).collect())


def test_a_table_is_what_the_stream_is_in_each_query(spark, create, fill, make_stream):
    stream = make_stream(2)
    events = fill(stream, 30)
    table = create(stream)

    first = [bytes(row.event) for row in spark.sql(f"SELECT event FROM {table}").collect()]
    events_then = events + fill(stream, 12, "later")
    second = [bytes(row.event) for row in spark.sql(f"SELECT event FROM {table}").collect()]

    assert sorted(first) == sorted(events)
    assert sorted(second) == sorted(events_then)
    assert spark.table(table).columns == ["event", "scope", "stream", "segment_id", "offset"]


def test_a_table_keeps_its_options_and_a_query_may_add_some(spark, create, fill, client, make_stream):
    stream = make_stream(1)
    fill(stream, 10)
    cut = client.tail(stream).to_text()
    fill(stream, 5)
    table = create(stream, f", start_stream_cut '{cut}', metadata_columns 'event_pointer'")

    rows = spark.sql(f"SELECT * FROM {table}").collect()

    assert [client.fetch(row.event_pointer).data for row in rows] == [bytes(row.event) for row in rows]
    assert len(rows) == 5
    assert spark.sql(f"SELECT * FROM {table} WITH (start_stream_cut = 'earliest')").count() == 15


def test_a_table_is_followed_by_a_streaming_query(spark, create, fill, make_stream, tmp_path):
    stream = make_stream(2)
    fill(stream, 40)
    table = create(stream, ", start_stream_cut 'earliest'")

    writer = spark.readStream.table(table).select("event").writeStream.format("parquet")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    assert query.start(str(tmp_path / "out")).awaitTermination(120)

    assert spark.read.parquet(str(tmp_path / "out")).count() == 40


def test_a_view_of_a_table_is_a_table(spark, create, fill, make_stream, database):
    stream = make_stream(1)
    fill(stream, 3)
    table = create(stream)

    spark.sql(f"CREATE VIEW {database}.texts AS SELECT CAST(event AS STRING) AS text FROM {table}")
    fill(stream, 2, "more")

    assert spark.table(f"{database}.texts").count() == 5


def test_a_table_with_a_list_of_columns_is_refused_with_the_remedy(spark, create, make_stream):
    table = create(make_stream(1), columns="(event BINARY)")

    with pytest.raises(AnalysisException, match="make the table without a list of columns"):
        spark.sql(f"SELECT * FROM {table}").collect()


def test_a_table_of_no_stream_is_refused_when_it_is_made_or_read(spark, create, make_stream, database):
    with pytest.raises(AnalysisException, match="no option 'strat_stream_cut': did you mean start_stream_cut"):
        create(make_stream(1), ", strat_stream_cut 'earliest'")
    assert not spark.catalog.tableExists(f"{database}.orders")


def test_a_secret_is_refused_by_a_table_and_stands_nowhere(spark, create, make_stream, database):
    with pytest.raises(AnalysisException, match="'password' would be in the catalog") as raised:
        create(make_stream(1), ", username 'me', password 'swordfish'")

    assert "swordfish" not in str(raised.value)
    assert not spark.catalog.tableExists(f"{database}.orders")


def test_what_is_shown_of_a_table_has_no_secret_of_a_query(spark, create, make_stream):
    table = create(make_stream(1))
    query = f"SELECT * FROM {table} WITH (username = 'me', password = 'swordfish', token = 'marlin')"

    said = shown(spark, f"EXPLAIN EXTENDED {query}") + shown(spark, f"DESCRIBE EXTENDED {table}")
    said += shown(spark, f"SHOW CREATE TABLE {table}") + spark.table(table).schema.json()

    assert "swordfish" not in said
    assert "marlin" not in said
    assert "redacted" in said


def test_a_view_with_a_secret_reads_and_shows_it_in_no_plan(spark, pravega_emulator_secure):
    server, scope = pravega_emulator_secure, f"secret-{uuid.uuid4().hex}"
    with PravegaClient(server.config) as client:
        client.create_scope(scope)
        client.create_stream(f"{scope}/stream")
        with client.writer(f"{scope}/stream") as writer:
            writer.write_many([b"event"] * 10)
    password = server.config_for("reader").password.get_secret_value()
    view = f"view_{uuid.uuid4().hex}"
    spark.sql(
        f"CREATE TEMPORARY VIEW {view} USING pravega OPTIONS (controller '{server.controller_uri}', "
        f"ca_file '{server.ca_file}', scope '{scope}', stream 'stream', username 'reader', password '{password}')"
    )
    frame = spark.table(view)

    assert frame.count() == 10
    said = shown(spark, f"EXPLAIN EXTENDED SELECT * FROM {view}") + shown(spark, f"DESCRIBE EXTENDED {view}")
    assert password not in said + frame._jdf.queryExecution().toString() + frame.schema.json()


def test_all_streams_of_a_scope_become_tables(spark, pravega_config, fill, make_stream, scope):
    for name, count in (("orders", 3), ("9.late-orders", 4), ("select", 5)):
        fill(make_stream(1, name), count)

    made = register_scope(spark, scope, controller=pravega_config.controller_uri)

    database = f"`{scope.replace('-', '_')}`"
    assert {entry.stream.stream: entry.table for entry in made} == {
        "orders": f"{database}.`orders`",
        "9.late-orders": f"{database}.`9_late_orders`",
        "select": f"{database}.`select`",
    }
    assert {entry.stream.stream: spark.table(entry.table).count() for entry in made} == {
        "orders": 3,
        "9.late-orders": 4,
        "select": 5,
    }
    assert not any(entry.temporary or entry.typed for entry in made)
    fill(made[1].stream, 1)
    again = register_scope(spark, scope, controller=pravega_config.controller_uri, metadata_columns="segment")
    assert again == made
    assert "segment" in spark.table(made[1].table).columns
    spark.sql(f"DROP DATABASE {database} CASCADE")


def test_streams_with_a_schema_in_the_registry_become_typed_tables(
    spark, pravega_config, pravega_emulator, client, fill, make_stream, scope, database
):
    uri = pravega_emulator.schema_registry_uri
    typed = make_stream(1, "users")
    fill(make_stream(1, "bytes"), 2)
    with SchemaRegistry(RegistryConfig(uri=uri)) as registry:
        registry.create_group("users", GroupProperties.of(SchemaFormat.JSON), scope)

        def write(schema: Mapping[str, Any], event: Mapping[str, Any]) -> None:
            version = registry.add_schema(
                "users", SchemaInfo.of(SchemaFormat.JSON, "User", json.dumps(schema)), scope, declared_only=True
            )
            head = header(registry.encoding_id("users", version, "", scope))
            with client.writer(f"{scope}/users") as writer:
                writer.write(head + json.dumps(event).encode())

        write(SCHEMA, {"id": 1, "name": "alice"})
        made = register_scope(
            spark, scope, database=database, controller=pravega_config.controller_uri, schema_registry_uri=uri
        )
        # A table stays as it was made, whatever the registry learns.
        later = {**SCHEMA, "properties": {**SCHEMA["properties"], "vip": {"type": "boolean"}}}
        write(later, {"id": 2, "name": "bob", "vip": True})

    assert {entry.stream.stream: entry.typed for entry in made} == {"users": True, "bytes": False}
    rows = spark.sql(f"SELECT * FROM {database}.users ORDER BY id").collect()
    assert [row.asDict() for row in rows] == [{"id": 1, "name": "alice"}, {"id": 2, "name": "bob"}]
    assert spark.table(f"{database}.bytes").count() == 2
    assert typed.stream == "users"


def test_with_a_secret_or_by_wish_the_streams_become_views(spark, pravega_config, fill, make_stream, scope, database):
    fill(make_stream(1, "a.b"), 3)

    (view,) = register_scope(spark, scope, database=database, controller=pravega_config.controller_uri, views=True)
    (hidden,) = register_scope(
        spark, scope, database=f"x{database}", controller=pravega_config.controller_uri, token="swordfish"
    )

    assert view.table == f"`{database}_a_b`"
    assert view.temporary
    assert hidden.temporary
    assert spark.sql(f"SELECT * FROM {view.table}").count() == 3
    assert not spark.catalog.tableExists(f"{database}.a_b")


def test_what_cannot_be_registered_is_refused(spark, pravega_config, make_stream, scope, database):
    def register(**more: Any) -> list[RegisteredStream]:
        return register_scope(
            spark, scope, **{"controller": pravega_config.controller_uri, "database": database} | more
        )

    make_stream(1, "a-b")
    make_stream(1, "A.b")
    with pytest.raises(ConfigurationError, match="A.b and .*a-b would both be table.*by names="):
        register()
    assert len(register(names={"A.b": "other"})) == 2
    with pytest.raises(ConfigurationError, match="names has missing"):
        register(names={"missing": "other"})
    with pytest.raises(ConfigurationError, match="a table cannot be named 'not this'"):
        register(names={"A.b": "not this"})
    with pytest.raises(ConfigurationError, match="option 'stream' is of one read"):
        register(stream="a-b")
    with pytest.raises(ConfigurationError, match="no option 'pasword'"):
        register(names={"A.b": "other"}, pasword="swordfish")
    spark.sql(f"CREATE TABLE {database}.mine USING parquet AS SELECT 1 AS one")
    with pytest.raises(AlreadyExistsError, match="another table of this name"):
        register(names={"A.b": "mine"})
    assert spark.table(f"{database}.mine").count() == 1
    with pytest.raises(ScopeNotFoundError):
        register_scope(spark, f"missing-{scope}", controller=pravega_config.controller_uri)


def test_a_catalog_that_takes_no_database_gets_views(spark, pravega_config, fill, make_stream, scope):
    fill(make_stream(1, "orders"), 3)

    # Spark makes a folder for a database, and cannot where there is a file.
    Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:"), "blocked.db").touch()
    (view,) = register_scope(spark, scope, database="blocked", controller=pravega_config.controller_uri)

    assert view.temporary
    assert spark.table(view.table).count() == 3


def test_errors_of_a_table_that_lost_its_stream_are_clear(spark, create, fill, client, make_stream):
    stream = make_stream(1)
    fill(stream, 1)
    table = create(stream)
    client.delete_stream(stream)

    with pytest.raises(PySparkException, match=r"aiopravega.errors.StreamNotFoundError"):
        spark.sql(f"SELECT * FROM {table}").collect()
