"""Ask a Pravega cluster whether it is ready: all requests right after that must work.

An open port proves little: the controller answers before the segment store has its containers. So a stream is made and
removed again, with more segments than there are containers, and its segment store is called at its published address.
"""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from aiopravega.config import PravegaConfig
from aiopravega.control import Controller, ScalingPolicy, StreamConfiguration
from aiopravega.errors import PravegaError
from aiopravega.names import StreamName

# Internal, by the underscore: users do not see it among their scopes.
_STREAM = StreamName("_emulator", "probe")
# With 4 containers at most, it is all but certain that each gets one of so many segments.
_SEGMENTS = 32
_ANSWER_SECONDS = 10.0


def pravega_problem(config: PravegaConfig) -> str | None:
    """The reason why the cluster is not ready; None if it is. May be called while an event loop runs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _problem(config)).result()


async def _problem(config: PravegaConfig) -> str | None:
    impatient = config.model_copy(update={"request_timeout": _ANSWER_SECONDS, "retry_timeout": 0.0})
    controller = Controller(impatient)
    try:
        await controller.create_scope(_STREAM.scope)
        is_new = await controller.create_stream(_STREAM, StreamConfiguration(ScalingPolicy.fixed(_SEGMENTS)))
        if is_new:
            segments = await controller.current_segments(_STREAM)
            endpoint = await controller.endpoint(segments[0].segment)
            socket.create_connection((endpoint.host, endpoint.port), timeout=_ANSWER_SECONDS).close()
        await controller.seal_stream(_STREAM)
        await controller.delete_stream(_STREAM)
    except (PravegaError, OSError) as error:
        return str(error)
    finally:
        await controller.close()
    return None if is_new else "an earlier question had got stuck half way"
