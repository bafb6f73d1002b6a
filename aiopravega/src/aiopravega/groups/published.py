"""Published positions: of groups of a program that stores its position itself, a subscriber or a query of Spark.

Such a group has no readers. The program publishes a whole state, in the form in which Java's readers shorten a long
one. The position is also the last checkpoint, so that Java's `getStreamCuts` and `getMetrics` and a description have
it.
"""

from collections.abc import Mapping
from typing import Final

from aiopravega.control import ReaderGroup
from aiopravega.cuts import StreamCut
from aiopravega.errors import ReaderGroupError, ReadersOnlineError
from aiopravega.groups.changes import whole_event
from aiopravega.groups.log import GroupLog
from aiopravega.groups.state import Checkpoints, GroupState, Offsets
from aiopravega.groups.whole_states import write_compact
from aiopravega.names import StreamName

# The prefix of the names of published positions; readers make no checkpoints with such names.
_PUBLISHED: Final = "aiopravega-position-"


def is_published(checkpoint: str | None) -> bool:
    """Return True if the name of a group's last checkpoint is that of a published position."""
    return checkpoint is not None and checkpoint.startswith(_PUBLISHED)


def check_no_readers(state: GroupState | None, group: ReaderGroup, what: str) -> None:
    """Check that a group has no readers, whose position a published one would replace.

    Raises:
        ReadersOnlineError: the group has readers.
    """
    if state is not None and state.assigned:
        readers = sorted(state.assigned)
        raise ReadersOnlineError(
            f"cannot {what}: readers {', '.join(map(repr, readers))} read with group {group.subscriber}, and keep its "
            "position. Choose another name",
            frozenset(readers),
        )


async def publish(log: GroupLog, group: ReaderGroup, cuts: Mapping[StreamName, StreamCut], heads: Offsets) -> None:
    """Write the position of a group, in all of its streams or in some.

    Args:
        log: of the group.
        group: with its configuration, as the controller has it.
        cuts: positions with the real offsets of ends of segments.
        heads: positions in the streams that are not in `cuts`, for the first publication.

    Raises:
        ReadersOnlineError: the group has readers.
        ReaderGroupError: the group does not read one of the streams.
    """
    if unknown := cuts.keys() - group.streams:
        raise ReaderGroupError(
            f"group {group.subscriber} reads {', '.join(map(str, sorted(group.streams)))}, not "
            f"{', '.join(map(str, sorted(unknown)))}. Choose another name"
        )
    while True:
        check_no_readers(log.state, group, f"publish a position of reader group {group.subscriber}")
        before = heads if log.state is None else log.state.offsets()
        offsets = {segment: offset for segment, offset in before.items() if segment.stream not in cuts}
        for cut in cuts.values():
            offsets |= cut.positions
        # Each position has another name, by which a sensor sees that the position is new.
        name = f"{_PUBLISHED}{log.offset}"
        checkpoints = Checkpoints([name], {}, {name: offsets}, offsets, name)
        state = GroupState(group.config, unassigned=offsets, read=offsets, checkpoints=checkpoints)
        if await log.append_whole(whole_event(write_compact(state))):
            return
