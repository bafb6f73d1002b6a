"""Which columns a read has: those of the JVM connector, the decoded fields, and the metadata that was asked for."""

import pickle
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructType

from aiopravega.errors import ConfigurationError
from pravega_jobs.spark.options import READ_BYTES
from pyspark_pravega import PravegaDataSource
from pyspark_pravega.arrow_types import arrow_schema, spark_schema
from pyspark_pravega.decode.plans import SparkPlan
from pyspark_pravega.read.columns import METADATA_COLUMNS, RAW_COLUMNS, Columns

OPTIONS = {"controller": "tcp://pravega:9090", "scope": "examples", "stream": "orders"}


@dataclass
class Fields:
    """A plan whose events have two fields."""

    kept: str | None = None
    pinned: dict[str, str] = field(default_factory=dict)
    schema: pa.Schema = field(default_factory=lambda: pa.schema([("Id", pa.int64()), ("name", pa.string())]))

    def decoder(self):
        raise AssertionError("no task here")


def plan(**given):
    fields = Fields(**given)
    return SparkPlan(fields, spark_schema(fields.schema))


def named(*names):
    return StructType([field for field in Columns.of(["all"]).schema.fields if field.name in names])


def test_a_raw_read_has_the_columns_of_the_jvm_connector():
    assert (
        Columns.of().schema.simpleString()
        == "struct<event:binary,scope:string,stream:string,segment_id:bigint,offset:bigint>"
    )


def test_metadata_follows_in_the_order_in_which_it_is_asked_for():
    assert Columns.of(["segment", "event_pointer"]).schema.names == [*RAW_COLUMNS, "segment", "event_pointer"]


def test_a_raw_read_repeats_no_column():
    assert Columns.of(["offset", "segment", "stream"]).schema.names == [*RAW_COLUMNS, "segment"]
    assert set(Columns.of(["all"]).schema.names) == {*RAW_COLUMNS, *METADATA_COLUMNS}


def test_the_column_of_bytes_must_be_named_and_gets_no_prefix():
    assert READ_BYTES not in Columns.of(["all"]).schema.names
    assert Columns.of([READ_BYTES]).schema.names == [*RAW_COLUMNS, READ_BYTES]
    assert Columns.of([READ_BYTES, "offset"], plan(), "p_").schema.names == ["Id", "name", "p_offset", READ_BYTES]


def test_decoded_fields_come_first():
    columns = Columns.of(["offset", "segment"], plan(kept="_corrupt_event"))

    assert columns.schema.names == ["Id", "name", "offset", "segment", "_corrupt_event"]
    assert arrow_schema(columns.schema).equals(columns.arrow)
    dead = Columns.of(["offset"], plan(kept="_error"), "p_")
    assert dead.schema.names == ["Id", "name", "p_offset", "_error"]
    assert arrow_schema(dead.schema).equals(dead.arrow)
    assert Columns.of([], plan()).schema.names == ["Id", "name"]


def test_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigurationError, match="'metadata_columns' has offsets, but must be all or some of event_po"):
        Columns.of(["offsets"])
    with pytest.raises(ConfigurationError, match="has latency, but"):
        PravegaDataSource(OPTIONS | {"metadata_columns": "offset,latency"}).schema()


def test_a_clash_with_a_decoded_field_is_refused_and_a_prefix_solves_it():
    own = plan(schema=pa.schema([("Offset", pa.int64())]))

    with pytest.raises(ConfigurationError, match="named as columns of the read: offset.*'metadata_prefix'"):
        Columns.of(["offset"], own)
    columns = Columns.of(["offset"], own, "pravega_")

    assert columns.schema.names == ["Offset", "pravega_offset"]
    assert columns.kind_of("Pravega_Offset") == "offset"
    assert columns.kind_of("offset") is None


def test_the_options_choose_the_columns():
    source = PravegaDataSource(OPTIONS | {"metadata_columns": "segment, Event_Pointer", "metadata_prefix": "p_"})

    assert source.schema().names == [*RAW_COLUMNS, "p_segment", "p_event_pointer"]


def test_columns_travel_to_tasks():
    columns = Columns.of(["all"])

    assert pickle.loads(pickle.dumps(columns)) == columns


def test_a_given_schema_may_select_columns_of_a_raw_read():
    columns = Columns.of().check(named("offset", "event"))

    assert columns.kinds == ("event", "offset")
    assert columns.arrow == pa.schema([("event", pa.binary()), ("offset", pa.int64())])


@pytest.mark.parametrize(
    "given", [StructType().add("event", StringType()), StructType().add("body", StringType()), named("segment")]
)
def test_a_given_schema_with_other_columns_is_refused(given):
    with pytest.raises(ConfigurationError, match=r"columns struct<event:binary,.* but the schema .*leave it out"):
        Columns.of().check(given)


def test_a_given_schema_of_decoded_fields_must_be_theirs():
    columns = Columns.of(["offset"], plan())

    assert columns.check(StructType(columns.schema.fields)) is columns
    with pytest.raises(ConfigurationError, match="leave it out"):
        columns.check(StructType(columns.schema.fields[::-1]))


def test_a_given_schema_without_a_column_of_the_read_is_told_to_add_it():
    columns = Columns.of(["offset"], plan(kept="_corrupt_event"))

    added = r"add offset bigint, _corrupt_event binary at its end, or give only .* with option 'columns'"
    with pytest.raises(ConfigurationError, match=added):
        columns.check(plan().schema)


def test_a_read_adds_its_own_columns_to_the_option_columns():
    given = {"decode": "json", "columns": "id long, at timestamp", "on_error": "null", "metadata_columns": "offset"}
    source = PravegaDataSource(OPTIONS | given)

    shown = "struct<id:bigint,at:timestamp,offset:bigint,_corrupt_event:binary>"
    assert source.schema().simpleString() == shown
    with pytest.raises(ConfigurationError, match="add at timestamp, offset bigint, _corrupt_event binary at its end"):
        PravegaDataSource(OPTIONS | given).reader(StructType().add("id", LongType()))
    with pytest.raises(ConfigurationError, match="a type is missing"):
        PravegaDataSource(OPTIONS | given | {"columns": "id"}).schema()


def test_a_read_of_changes_adds_the_asked_columns_about_changes():
    given = {"decode": "debezium-json", "columns": "id int", "metadata_columns": "_op,offset", "key": "id"}

    assert PravegaDataSource(OPTIONS | given).schema().names == ["id", "_op", "offset"]
