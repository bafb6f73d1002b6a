"""Which servers we talk to, by their first command."""

import pytest

from aiopravega import wire
from aiopravega.errors import ProtocolError


@pytest.mark.parametrize(
    "hello",
    [
        wire.Hello(16, 5),  # Pravega 0.13.0
        wire.Hello(17, 5),  # its main branch
        wire.Hello(5, 1),
        wire.Hello(30, 18),
    ],
)
def test_a_server_whose_versions_overlap_ours_is_fine(hello):
    wire.check_hello(hello, "store:6000")


@pytest.mark.parametrize("hello", [wire.Hello(4, 1), wire.Hello(30, 19)])
def test_a_server_that_is_too_old_or_too_new_is_refused_with_both_ranges(hello):
    with pytest.raises(ProtocolError, match=rf"store:6000 speaks versions {hello.low_version} to .* client 5 to 18"):
        wire.check_hello(hello, "store:6000")


def test_a_server_that_does_not_greet_is_no_segment_store():
    with pytest.raises(ProtocolError, match="store:6000 began with KeepAlive and not with Hello"):
        wire.check_hello(wire.KeepAlive(), "store:6000")
