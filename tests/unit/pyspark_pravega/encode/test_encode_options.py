"""What a write says about encoding, and the plan that comes of it."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from aiopravega.config import PravegaConfig
from aiopravega.errors import CodecNotRegisteredError, ConfigurationError
from aiopravega.names import StreamName
from aiopravega.schema import codec_named, header, split_header
from aiopravega.schema.registry.codecs import GZIP, LZ4, NONE, SNAPPY
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.decoding.options import Format
from pyspark_pravega.encode.encode_options import ENCODE_OPTIONS, EncodeOptions
from pyspark_pravega.encode.plan import EncodePlan
from pyspark_pravega.encode.planning import encode_plan

REGISTRY = {"encode": "json", "schema_registry_uri": "http://registry:9092"}
COLUMNS = pa.schema([("id", pa.int64())])


def parse(**given):
    return EncodeOptions.parse(Options(given, ENCODE_OPTIONS, "a write"), decodes=False)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("none", NONE),
        ("gzip", GZIP),
        ("Snappy", SNAPPY),
        ("lz4", LZ4),
        (GZIP, GZIP),
        ("application/x-own", "application/x-own"),
    ],
)
def test_a_codec_has_a_short_word_or_its_name(word, name):
    assert parse(**REGISTRY, codec=word).codec == name


def test_a_codec_without_a_registry_is_refused():
    with pytest.raises(ConfigurationError, match="only the header of a Schema Registry says"):
        parse(encode="json", codec="gzip")
    with pytest.raises(ConfigurationError, match="option 'codec' is for events that are encoded"):
        parse(codec="gzip")


def test_the_policy_of_a_new_group_is_an_option_of_encoded_writes():
    assert parse(**REGISTRY).new_policy is None
    assert parse(**REGISTRY, new_policy="Full").new_policy == "Full"
    with pytest.raises(ConfigurationError, match="option 'new_policy' is for events that are encoded"):
        parse(new_policy="Full")


def test_times_and_decimals_of_json_have_the_texts_of_the_options():
    at = pa.array([dt.datetime(2020, 12, 30, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))
    price = pa.array([Decimal("1E-8")], pa.decimal128(10, 8))
    columns = pa.schema([("at", at.type), ("price", price.type)])
    options = parse(encode="json", timestamp_format="SQL", json_decimals="text")

    plan = encode_plan(options, PravegaConfig(), StreamName("examples", "orders"), columns)

    event = plan.encoder().encode([at, price], 1)[0].as_py()
    assert event == b'{"at":"2020-12-30 00:00:00.000000Z","price":"0.00000001"}'


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"encode": "json", "timestamp_format": "rfc"}, "must be one of iso, sql"),
        ({"encode": "json", "json_decimals": "float"}, "must be one of number, plain, text"),
        ({"encode": "avro", "json_decimals": "text"}, "'json_decimals' is for encode=json, not for encode=avro"),
        ({"timestamp_format": "sql"}, "'timestamp_format' is for events that are encoded"),
        ({"encode": "debezium-json", "key": "id", "timestamp_format": "sql"}, "timestamp_format"),
        ({"encode": "canal-json"}, "change events are written as Debezium's JSON"),
    ],
)
def test_formats_and_texts_that_no_write_has_are_refused(given, said):
    with pytest.raises(ConfigurationError, match=said):
        parse(**given)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4])
def test_payloads_are_compressed_and_headers_are_not(codec):
    plan = EncodePlan(Format.JSON, None, None, COLUMNS, header(3), codec)

    event = plan.encoder().encode([pa.array([7])], 1)[0].as_py()

    encoding_id, payload = split_header(event)
    assert (encoding_id, codec_named(codec).decompress(payload)) == (3, b'{"id":7}')


def test_a_codec_that_the_workers_do_not_know_is_refused_with_the_plan():
    with pytest.raises(CodecNotRegisteredError, match="register_codec"):
        EncodePlan(Format.JSON, None, None, COLUMNS, header(3), "application/x-unheard").encoder()
