"""Changes that take several requests: of single settings of a stream, and of scopes."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from aiopravega.control.controller import Controller
from aiopravega.control.policies import ScalingPolicy, ScalingType, StreamConfiguration
from aiopravega.errors import ScopeNotEmptyError, ScopeNotFoundError
from aiopravega.names import StreamName

logger = logging.getLogger(__name__)

# Tags with this beginning are marks of ledgers (`aiopravega.ledger`): who gives a stream other tags does not mean them.
RESERVED_TAG: Final = "commit-ledger="


def reserved(tags: Iterable[str]) -> tuple[str, ...]:
    """The marks of ledgers among some tags."""
    return tuple(tag for tag in tags if tag.startswith(RESERVED_TAG))


async def amend_stream(
    controller: Controller, stream: StreamName, before: StreamConfiguration, after: StreamConfiguration
) -> bool:
    """Change settings of a stream, which were `before`. If its scaling policy stays, so do its segments.

    The mark of a ledger stays among its tags, unless `after` has another one. Returns False if nothing changes.

    Pravega holds a stream to its policy at each update, also of its tags: one that was scaled by hand would be scaled
    back. So the policy gets the number of segments that there are, where it asks for another one.

    Raises:
        StreamNotFoundError: the stream does not exist.
        StreamSealedError: it is sealed.
        ConfigurationError: Pravega takes no such configuration.
    """
    if not reserved(after.tags):
        after = replace(after, tags=(*after.tags, *reserved(before.tags)))
    if after == before:
        return False
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
    return True


def _of_segments(policy: ScalingPolicy, segments: int) -> ScalingPolicy:
    """The policy if it allows this number of segments; otherwise the nearest that does. A sealed stream has none."""
    too_few = segments < policy.min_segments
    too_many = policy.kind is ScalingType.FIXED and segments > policy.min_segments
    return replace(policy, min_segments=segments) if segments and (too_few or too_many) else policy


async def delete_empty_scope(controller: Controller, scope: str) -> bool:
    """Delete a scope that holds nothing; returns False if there was none.

    Pravega refuses a scope that holds something, but makes no key-value tables in it from then on. So it is not asked.

    Raises:
        ScopeNotEmptyError: the scope holds streams, tables or reader groups.
    """
    try:
        held = [each.stream for each in await controller.list_streams(scope)]
        held += [*await controller.list_tables(scope), *await controller.list_reader_groups(scope)]
    except ScopeNotFoundError:
        return False
    if held:
        raise ScopeNotEmptyError(f"cannot delete scope {scope}: delete first what it holds: {', '.join(held)}")
    return await controller.delete_scope(scope)
