"""Numbers, texts, cuts and checkpoints in Java's bytes, both ways."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import UNBOUNDED, SegmentId, StreamCut, StreamName
from aiopravega.control import GroupRetention, ReaderGroupConfig
from aiopravega.errors import ConfigurationError, ReaderGroupStateError
from aiopravega.groups import JavaCheckpoint, cut_from_bytes, cut_to_bytes, output
from aiopravega.groups.fields import JavaFields
from aiopravega.groups.whole_states import read_config, write_config

VECTOR = json.loads((Path(__file__).parents[3] / "vectors" / "reader-group.json").read_text(encoding="utf-8"))
STREAM = StreamName("s1795402438", "st")
CUT = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 317, SegmentId(STREAM, 1, 0): 313})


@given(st.integers(0, 2**30 - 1))
def test_compact_ints(value):
    assert JavaFields(output.compact_int(value)).compact_int() == value


@given(st.integers(0, 2**62 - 1))
def test_compact_longs(value):
    assert JavaFields(output.compact_long(value)).compact_long() == value


@given(st.integers(-(2**61), 2**61 - 1))
def test_signed_longs(value):
    assert JavaFields(output.signed_long(value)).signed_long() == value


@given(st.text())
def test_texts(value):
    assert JavaFields(output.text(value)).text() == value


def test_texts_are_javas():
    assert output.text("a\0\U0001f600") == b"\x00\x09a\xc0\x80\xed\xa0\xbd\xed\xb8\x80"
    with pytest.raises(ConfigurationError, match="too long"):
        output.text("x" * 70_000)


def test_a_checkpoint_of_java():
    found = JavaCheckpoint.from_bytes(bytes.fromhex(VECTOR["checkpoint"]))

    assert found == JavaCheckpoint("cp1", {STREAM: CUT})
    assert found.to_bytes().hex() == VECTOR["checkpoint"]


def test_cuts():
    ended = StreamCut(STREAM, {SegmentId(STREAM, 0, 3): -1, SegmentId(STREAM, 7, 3): 2**40})
    for cut in (CUT, ended, UNBOUNDED):
        assert cut_from_bytes(cut_to_bytes(cut)) == cut


def test_cuts_of_early_releases():
    old = output.record(output.stream(STREAM) + output.compact_int(1) + b"\x05" + output.compact_long(300), version=0)

    assert cut_from_bytes(old) == StreamCut(STREAM, {SegmentId(STREAM, 5, 0): 300})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (output.record(b"", version=2), "has version 2"),
        (output.record(output.text("no-scope") + b"\0"), "is not the name of a stream"),
        (output.record(output.stream(STREAM) + b"\0"), "are not a StreamCut"),
        (b"\x07", "serialization format 7"),
        (bytes.fromhex(VECTOR["checkpoint"])[:30], "bytes are promised"),
    ],
)
def test_what_is_no_cut_is_refused(data, reason):
    with pytest.raises(ReaderGroupStateError) as refused:
        cut_from_bytes(data)
    assert reason in str(refused.value)


@given(st.binary(max_size=100))
def test_bytes_at_random_are_no_checkpoint_or_one(data):
    for read in (JavaCheckpoint.from_bytes, cut_from_bytes, read_config):
        try:
            read(data)
        except ReaderGroupStateError:
            continue


@pytest.mark.parametrize("interval", [None, timedelta(seconds=30)])
def test_configurations(interval):
    config = ReaderGroupConfig(
        {STREAM: CUT},
        {STREAM: CUT},
        checkpoint_interval=interval,
        retention=GroupRetention.AUTOMATIC,
        outstanding_checkpoints=7,
        generation=4,
    )

    assert read_config(write_config(config)) == config
