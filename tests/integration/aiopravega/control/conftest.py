"""Clients of the real server, and names that no other test uses."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from aiopravega import PravegaConfig, ScalingPolicy, StreamConfiguration
from aiopravega.control import Controller
from aiopravega.names import StreamName

Make = Callable[..., Awaitable[StreamName]]


@pytest.fixture
async def controller(pravega_config: PravegaConfig) -> AsyncIterator[Controller]:
    """The controller of the plain server."""
    made = Controller(pravega_config)
    yield made
    await made.close()


@pytest.fixture
async def scope(controller: Controller) -> str:
    """A scope of the test's own."""
    name = f"control-{uuid.uuid4().hex}"
    assert await controller.create_scope(name)
    return name


@pytest.fixture
def make_stream(controller: Controller, scope: str) -> Make:
    """Makes streams in the test's scope."""

    async def make(name: str = "stream", segments: int = 1) -> StreamName:
        stream = StreamName(scope, name)
        assert await controller.create_stream(stream, StreamConfiguration(ScalingPolicy.fixed(segments)))
        return stream

    return make
