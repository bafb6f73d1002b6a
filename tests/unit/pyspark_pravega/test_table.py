"""The options of a table travel with its columns; secrets do not."""

import pytest
from pyspark.sql.types import LongType, StructType

from aiopravega.errors import ConfigurationError
from pyspark_pravega import PravegaDataSource
from pyspark_pravega.read.batch import PravegaBatchReader
from pyspark_pravega.table import kept_options, statement_options, with_options

OPTIONS = {"controller": "tcp://pravega:9090", "scope": "examples", "stream": "orders"}
# As Spark's catalog hands them over when a table is made.
STATEMENT = {"provider": "pravega", "owner": "me", **OPTIONS, **{f"option.{name}": o for name, o in OPTIONS.items()}}


def test_a_statements_options_are_separated_from_the_catalogs_properties():
    assert statement_options(STATEMENT) == OPTIONS
    assert statement_options(OPTIONS) is None


def test_the_columns_of_a_table_keep_its_options_for_the_reader():
    schema = StructType.fromJson(PravegaDataSource(dict(STATEMENT)).schema().jsonValue())

    assert schema.names == ["event", "scope", "stream", "segment_id", "offset"]
    assert kept_options(schema) == OPTIONS
    assert isinstance(PravegaDataSource({}).reader(schema), PravegaBatchReader)


def test_what_a_query_says_comes_first():
    source = PravegaDataSource({"controller": "tcp://other:9090"})

    source.reader(PravegaDataSource(dict(STATEMENT)).schema())

    assert source.options == OPTIONS | {"controller": "tcp://other:9090"}


def test_a_read_of_another_stream_takes_nothing_of_a_table():
    source = PravegaDataSource({"stream": "examples/returns"})

    source.reader(PravegaDataSource({**STATEMENT, "option.split_bytes": "0"}).schema())

    assert source.options == {"stream": "examples/returns"}


def test_the_columns_of_a_plain_read_keep_nothing():
    assert kept_options(PravegaDataSource(dict(OPTIONS)).schema()) == {}
    assert kept_options(StructType()) == {}


def test_metadata_of_a_column_stays():
    columns = StructType().add("id", LongType(), metadata={"comment": "key"})

    kept = with_options(columns, OPTIONS)

    assert kept.fields[0].metadata["comment"] == "key"
    assert kept == with_options(kept, OPTIONS)


@pytest.mark.parametrize(
    "secret", ["password", "token", "token_source", "schema_registry_password", "schema_registry_token"]
)
def test_a_secret_is_refused_and_not_shown(secret):
    with pytest.raises(ConfigurationError, match=f"'{secret}' would be in the catalog") as raised:
        PravegaDataSource({**STATEMENT, secret: "swordfish", f"option.{secret}": "swordfish"}).schema()

    assert "swordfish" not in str(raised.value)


def test_a_table_with_a_list_of_columns_fails_with_the_remedy():
    columns = PravegaDataSource(dict(OPTIONS)).schema()

    with pytest.raises(
        ConfigurationError, match=r"option 'stream' is missing: .*make the table without a list of columns"
    ):
        PravegaDataSource({}).reader(columns)
