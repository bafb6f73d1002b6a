"""Change events in Avro, by a real registry: a real Spark gives the rows that Debezium's JSON gives."""

import pytest
from pyspark.errors import PySparkException
from tests.integration.pyspark_pravega.debezium_events import in_avro, made, texts

from aiopravega.names import StreamName
from pyspark_pravega.cdc import current

KEY = "order_id,line"


@pytest.fixture
def write_avro(pravega_emulator, write):
    """Writes events that carry Connect's schemas as Avro."""
    return lambda stream, events: write(stream, in_avro(pravega_emulator.schema_registry_uri, stream, events))


def test_avro_gives_the_table_that_json_gives(changes, write, client, make_stream, write_avro, pravega_emulator):
    plain = make_stream(2)
    registered = StreamName(plain.scope, "registered")
    client.create_stream(registered)
    events = [one for one in texts("schema", "order_items") if one[0]]
    write(plain, events)
    write_avro(registered, events)
    uri = pravega_emulator.schema_registry_uri

    wanted = changes(plain, key=KEY, metadata_columns="cdc")
    found = changes(registered, key=KEY, metadata_columns="cdc", decode="debezium-avro", schema_registry_uri=uri)

    assert found.dtypes == wanted.dtypes
    assert sorted(map(str, found.collect())) == sorted(map(str, wanted.collect()))
    key = KEY.split(",")
    assert sorted(map(str, current(found, key).collect())) == sorted(map(str, current(wanted, key).collect()))


def test_a_streaming_query_reads_avro(spark, changes, make_stream, write_avro, pravega_emulator, tmp_path):
    stream = make_stream(2)
    events = [one for one in texts("schema", "customers") if one[0]]
    write_avro(stream, events)

    frame = changes(
        stream,
        "id int, _change_type string",
        reader=spark.readStream,
        key="id",
        decode="debezium-avro",
        schema_registry_uri=pravega_emulator.schema_registry_uri,
        start_stream_cut="earliest",
    )
    query = frame.writeStream.format("parquet").trigger(availableNow=True)
    query.option("checkpointLocation", f"{tmp_path}/c").start(f"{tmp_path}/out").awaitTermination()

    assert spark.read.parquet(f"{tmp_path}/out").count() == len(events)


def test_what_cannot_be_read_so_is_refused(changes, write, make_stream, write_avro, pravega_emulator):
    stream = make_stream(1)
    write_avro(stream, [one for one in texts("schema", "customers") if one[0]][:2])
    uri = pravega_emulator.schema_registry_uri

    with pytest.raises(PySparkException, match="no schema for decode=debezium-protobuf"):
        changes(stream, key="id", decode="debezium-protobuf", schema_registry_uri=uri).count()
    with pytest.raises(PySparkException, match="the schemas of the events are in the registry"):
        changes(stream, key="id", decode="debezium-avro", schema_registry_uri=uri, schema_text="{}").count()
    write(stream, [made("c", 1, id=1)])
    with pytest.raises(PySparkException, match="has no header of a Schema Registry"):
        changes(stream, key="id", decode="debezium-avro", schema_registry_uri=uri).collect()
