"""Changes of single settings of a stream; the other settings stay."""

import logging
from dataclasses import replace

from aiopravega.control.controller import Controller
from aiopravega.control.policies import ScalingPolicy, ScalingType, StreamConfiguration
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)


async def amend_stream(
    controller: Controller, stream: StreamName, before: StreamConfiguration, after: StreamConfiguration
) -> None:
    """Change settings of a stream, which were `before`. If its scaling policy stays, so do its segments.

    Pravega holds a stream to its policy at each update, also of its tags: one that was scaled by hand would be scaled
    back. So the policy gets the number of segments that there are, where it asks for another one.

    Raises:
        StreamNotFoundError: the stream does not exist.
        StreamSealedError: it is sealed.
        ConfigurationError: Pravega takes no such configuration.
    """
    if after.scaling == before.scaling:
        segments = len(await controller.current_segments(stream))
        after = replace(after, scaling=_of_segments(before.scaling, segments))
        if after.scaling != before.scaling:
            logger.warning(
                "%s has %d segments and a scaling policy of %d: the policy gets the number that there are, or this "
                "update would scale the stream",
                stream,
                segments,
                before.scaling.min_segments,
            )
    await controller.update_stream(stream, after)


def _of_segments(policy: ScalingPolicy, segments: int) -> ScalingPolicy:
    """The policy if it allows this number of segments; otherwise the nearest that does. A sealed stream has none."""
    too_few = segments < policy.min_segments
    too_many = policy.kind is ScalingType.FIXED and segments > policy.min_segments
    return replace(policy, min_segments=segments) if segments and (too_few or too_many) else policy
