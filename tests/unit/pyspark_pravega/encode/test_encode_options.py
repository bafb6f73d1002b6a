"""What a write says about encoding, and the plan that comes of it."""

import pyarrow as pa
import pytest

from aiopravega.errors import CodecNotRegisteredError, ConfigurationError
from aiopravega.schema import codec_named, header, split_header
from aiopravega.schema.registry.codecs import GZIP, LZ4, NONE, SNAPPY
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.decoding.options import Format
from pyspark_pravega.encode.encode_options import ENCODE_OPTIONS, EncodeOptions
from pyspark_pravega.encode.plan import EncodePlan

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


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4])
def test_payloads_are_compressed_and_headers_are_not(codec):
    plan = EncodePlan(Format.JSON, None, None, COLUMNS, header(3), codec)

    event = plan.encoder().encode([pa.array([7])], 1)[0].as_py()

    encoding_id, payload = split_header(event)
    assert (encoding_id, codec_named(codec).decompress(payload)) == (3, b'{"id":7}')


def test_a_codec_that_the_workers_do_not_know_is_refused_with_the_plan():
    with pytest.raises(CodecNotRegisteredError, match="register_codec"):
        EncodePlan(Format.JSON, None, None, COLUMNS, header(3), "application/x-unheard").encoder()
