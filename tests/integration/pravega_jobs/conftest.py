"""The client of the real server and its streams, as the tests of the client have them."""

from tests.integration.aiopravega.conftest import client, eventually, make_stream, read_all, scope

__all__ = ["client", "eventually", "make_stream", "read_all", "scope"]
