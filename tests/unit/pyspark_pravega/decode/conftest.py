"""Events for decoders."""

import pyarrow as pa
import pytest

from aiopravega.schema.arrow.arrays import values_of


@pytest.fixture(scope="session")
def payloads():
    """Makes an array of events."""
    return lambda *events: values_of(list(events), pa.binary())
