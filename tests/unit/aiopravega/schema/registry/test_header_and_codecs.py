"""Headers and codecs: what the official Java serializers write is read, and nothing unpacks without limit."""

import json
import random
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.errors import CodecNotRegisteredError, MalformedEventError
from aiopravega.schema import codec_named, header, register_codec, split_header
from aiopravega.schema.arrow.envelope import codec_of
from aiopravega.schema.registry.codecs import GZIP, LZ4, NONE, SNAPPY

EVENTS = json.loads((Path(__file__).parents[4] / "vectors" / "java-serializers.json").read_text())["events"]
PLAIN = {
    "Avro": bytes.fromhex("0e0a616c696365"),
    "Json": b'{"id":7,"name":"alice"}',
    "Protobuf": bytes.fromhex("08071009"),
}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: f"{event['format']}-{event['codec'] or 'plain'}")
def test_what_java_wrote_is_read(event):
    encoding_id, payload = split_header(bytes.fromhex(event["hex"]))

    content = codec_named(event["codec"] or NONE).decompress(payload)

    assert encoding_id == event["encoding_id"]
    assert content.rstrip(b"\0") == PLAIN[event["format"]]


def test_a_header_is_the_protocol_and_the_encoding_id():
    assert header(258) == b"\x01\x00\x00\x01\x02"
    assert split_header(header(258) + b"x") == (258, b"x")
    assert split_header(b"\x01\x00") == (None, b"\x01\x00")
    assert split_header(b'{"id":7}') == (None, b'{"id":7}')


@pytest.mark.parametrize("name", [NONE, GZIP, SNAPPY, LZ4])
@given(content=st.binary(max_size=300).map(lambda some: some * 5))
def test_a_codec_gives_back_what_it_got(name, content):
    codec = codec_named(name)

    assert codec.decompress(codec.compress(content)) == content


@pytest.mark.parametrize("name", [SNAPPY, LZ4])
@pytest.mark.parametrize("size", [0, 1, 60, 61, 256, 257, 65536, 65537, 70000])
def test_contents_of_all_sizes_are_compressed(name, size):
    codec = codec_named(name)
    content = bytes(number % 251 for number in range(size))

    packed = codec.compress(content)

    assert codec.decompress(packed) == content
    assert len(packed) < len(content) / 5 or size < 1000


def test_single_events_and_blocks_have_one_codec():
    assert all(codec_of(name) is codec_named(name) for name in (SNAPPY, LZ4))


def test_snappy_copies_may_overlap_what_they_make():
    # 10 bytes: the literal "ab", then 8 bytes from 2 bytes ago.
    assert codec_named(SNAPPY).decompress(bytes([10, 1 << 2]) + b"ab" + bytes([4 << 2 | 1, 2])) == b"ab" * 5


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\xff\xff\xff\xff\xff\xff",
        b"\x05\x00a",
        b"\x04\x0ca",
        b"\x04\x01\x05",
        b"\x04\x00a\x01\x00",
        b"\x01\x0cabcd",
    ],
)
def test_what_is_not_snappy_is_refused(block):
    with pytest.raises(MalformedEventError, match="Snappy"):
        codec_named(SNAPPY).decompress(block)


@given(st.binary(max_size=100))
def test_nonsense_is_refused_or_read_but_nothing_else(block):
    for name in (GZIP, SNAPPY, LZ4):
        try:
            codec_named(name).decompress(block, limit=10_000)
        except MalformedEventError:
            continue


def test_a_bomb_is_not_unpacked():
    bomb = zlib.compressobj(wbits=31)
    packed = bomb.compress(bytes(10_000_000)) + bomb.flush()

    with pytest.raises(MalformedEventError, match="limit of 1000 bytes"):
        codec_named(GZIP).decompress(packed, limit=1000)
    with pytest.raises(MalformedEventError, match="limit of 1000"):
        codec_named(SNAPPY).decompress(b"\x80\x80\x80\x04", limit=1000)
    lz4 = codec_named(LZ4)
    packed = lz4.compress(bytes(1001))
    assert lz4.decompress(packed, limit=1001) == bytes(1001)
    with pytest.raises(MalformedEventError, match="limit of 1000 bytes"):
        lz4.decompress(packed, limit=1000)


def test_what_is_not_one_whole_frame_of_lz4_is_refused():
    frame = codec_named(LZ4).compress(b"content" * 10)

    for wrong in (b"", b"junk", frame[:6], frame[:-1], frame[:-4], frame + b"\0", frame[:5] + b"\xff" + frame[6:]):
        with pytest.raises(MalformedEventError, match="not an LZ4 frame"):
            codec_named(LZ4).decompress(wrong)


@pytest.mark.parametrize("size", [1, 100_000, 9 * 1024 * 1024])
def test_frames_of_lz4_have_independent_blocks_as_java_needs(size):
    for content in (bytes(size), random.Random(size).randbytes(size)):
        frame = codec_named(LZ4).compress(content)
        assert codec_named(LZ4).decompress(frame) == content
        assert frame[4] == 0b0110_0000  # version 1, independent blocks, no sums, no size
        assert len(frame) < size + 30


def test_gzip_that_is_cut_off_is_refused():
    packed = codec_named(GZIP).compress(b"content" * 10)

    with pytest.raises(MalformedEventError, match="cut off"):
        codec_named(GZIP).decompress(packed[:-3])


def test_a_codec_of_ones_own_can_be_registered():
    with pytest.raises(CodecNotRegisteredError, match="register_codec"):
        codec_named("application/x-nobodys")

    class Reversed:
        def compress(self, payload: bytes) -> bytes:
            return payload[::-1]

        def decompress(self, payload: bytes, limit: int = 0) -> bytes:
            return payload[::-1]

    register_codec("application/x-mirror", Reversed())

    assert codec_named("application/x-mirror").decompress(b"abc") == b"cba"
