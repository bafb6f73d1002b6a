"""The mark on a stream that says which ledger remembers its writes, kept twice, so that nobody removes both.

Without it, a write that names another ledger, or one whose table was deleted and made again, would find nothing there
and write everything a second time. An identity is made once, with the first mark, as an entry of the ledger's table.

Once it is a tag, with the ledger's identity and its name: people see it, and a client that sets the tags of a stream
removes it. And it is an attribute of the stream's segments, a part of the identity as a number: segment stores keep it,
and no tool shows it. One that is missing is put again while the other is there.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from aiopravega import wire
from aiopravega.bounded import each
from aiopravega.control import RESERVED_TAG, Access, Controller, amend_stream, reserved
from aiopravega.errors import (
    AlreadyExistsError,
    ConfigurationError,
    SecurityError,
    SegmentNotFoundError,
    SegmentSealedError,
    ServerError,
    StreamSealedError,
    WrongLedgerError,
)
from aiopravega.names import SegmentId, StreamName
from aiopravega.store import SegmentStore

logger = logging.getLogger(__name__)
# Of a tag; an identity always fits, and a name that does not is cut off.
_LONGEST: Final = 256
# Writes that start at the same time mark a stream together; the pause between two tries is in seconds.
_TRIES: Final = 10
_PAUSE: Final = (0.1, 0.5)
# An attribute is a number of 64 bits with a sign.
_LEFT_OUT: Final = 65
_AT_ONCE: Final = 16


def tag_of(identity: UUID, name: str) -> str:
    """The tag of the streams whose writes a ledger remembers."""
    return f"{RESERVED_TAG}{identity.hex}={name}"[:_LONGEST]


async def mark(
    controller: Controller,
    store: SegmentStore,
    stream: StreamName,
    identity_of: Awaitable[UUID],
    name: str,
    *,
    adopt: bool = False,
) -> str | None:
    """Mark a stream with the ledger of its writes, or check the mark that it has; `adopt` replaces another one.

    An account that may write to a stream and not change it leaves it without the tag, and so does one that has as many
    tags as it may have: then it has the mark in its segments only. A stream that is sealed is not marked.

    Returns:
        Why the stream could not be marked, for a warning; None: it is marked.

    Raises:
        WrongLedgerError: the stream has the mark of another ledger.
        ServerError: the controller refuses to change the stream.
        StreamNotFoundError: the stream does not exist.
    """
    identity, configuration, ranges = await asyncio.gather(
        identity_of, controller.stream_configuration(stream), controller.current_segments(stream)
    )
    wanted = tag_of(identity, name)
    found, current = reserved(configuration.tags), [each.segment for each in ranges]
    _check_tag(stream, found, identity, name, adopt=adopt)
    number = identity.int >> _LEFT_OUT
    try:
        marks = await _marks(store, current[:1] if found and not adopt else current)
        known = {value for value in marks.values() if value is not None}
        if not found and not known:
            known = await _older_marks(controller, store, stream, current)
        if known - {number} and not adopt:
            raise WrongLedgerError(_in_segments(stream, found, identity, name))
        if marks and set(marks.values()) != {number}:
            await _put_into_segments(store, current, number, _in_segments(stream, found, identity, name), adopt=adopt)
        is_marked = bool(marks)
    except SecurityError as error:
        logger.debug("%s: its segments do not have the mark of %s: %s", stream, name, error)
        known, is_marked = set(), False
    if found == (wanted,):
        return None
    failure = await _put_tag(controller, stream, wanted, identity, name, adopt=adopt)
    if failure is None and known and not found:
        logger.warning(
            "%s: its tag %s was removed, by which people and exports find its commit ledger, and is put back: a client "
            "that sets the tags of a stream has to name all that are to stay",
            stream,
            wanted,
        )
    return None if is_marked else failure


async def _marks(store: SegmentStore, segments: Sequence[SegmentId]) -> dict[SegmentId, int | None]:
    """The marks of some segments; None: a segment has none, or retention has removed it."""

    async def one(segment: SegmentId) -> int | None:
        try:
            return await store.attribute(segment, wire.LEDGER_MARK, Access.WRITE)
        except SegmentNotFoundError:
            return None

    return dict(zip(segments, await each(one, segments, _AT_ONCE), strict=True))


async def _older_marks(
    controller: Controller, store: SegmentStore, stream: StreamName, current: Sequence[SegmentId]
) -> set[int]:
    """The mark of the newest segment before the current ones that has one: the stream may have been scaled since."""
    if not current:
        return set()
    head = await controller.head_segments(stream)
    between = await controller.segments_between(stream, head, dict.fromkeys(current, 0))
    older = [segment for segment in between if segment not in current]
    marks = await _marks(store, older)
    known = [value for segment in reversed(older) if (value := marks[segment]) is not None]
    return set(known[:1])


async def _put_into_segments(
    store: SegmentStore, segments: Sequence[SegmentId], number: int, otherwise: str, *, adopt: bool
) -> None:
    """Put the mark into segments: into the first one first, so that of two ledgers one wins them all."""

    async def one(segment: SegmentId) -> None:
        while (before := (await _marks(store, [segment]))[segment]) != number:
            if before is not None and not adopt:
                raise WrongLedgerError(otherwise)
            try:
                await store.set_attribute(segment, wire.LEDGER_MARK, number, before)
            except AlreadyExistsError:  # another write was first, or an earlier try whose answer was lost
                continue
            except (SegmentSealedError, SegmentNotFoundError):  # scaled meanwhile: the next write marks the others
                return

    await one(segments[0])
    await each(one, segments[1:], _AT_ONCE)


async def _put_tag(
    controller: Controller, stream: StreamName, wanted: str, identity: UUID, name: str, *, adopt: bool
) -> str | None:
    """Put the tag, if it is not there; returns why that is not possible."""
    for tries_left in reversed(range(_TRIES)):
        configuration = await controller.stream_configuration(stream)
        found = reserved(configuration.tags)
        if found == (wanted,):  # what was put is read again: another write may have marked the stream meanwhile
            return None
        _check_tag(stream, found, identity, name, adopt=adopt)
        others = [tag for tag in configuration.tags if tag not in found]
        try:
            await amend_stream(controller, stream, configuration, replace(configuration, tags=(*others, wanted)))
        except ServerError:  # so the controller answers an update while another one is under way
            if not tries_left:
                raise
            await asyncio.sleep(random.uniform(*_PAUSE))
        except (SecurityError, StreamSealedError, ConfigurationError) as error:
            if adopt:
                raise
            return (
                f"{stream} is not marked with its commit ledger {name}, so that nobody notices if a write names "
                f"another one: {error}"
            )
    return None


def _check_tag(stream: StreamName, found: Collection[str], identity: UUID, name: str, *, adopt: bool) -> None:
    wanted = tag_of(identity, name)
    if not adopt:
        for tag in found:
            if tag != wanted:
                raise WrongLedgerError(_difference(stream, tag, identity, name))


def _difference(stream: StreamName, found: str, identity: UUID, name: str) -> str:
    known, _, ledger = found.removeprefix(RESERVED_TAG).partition("=")
    if ledger == name:
        what = (
            f"the ledger {name} was deleted, or emptied, and made again since (it was {known}, and is {identity.hex})"
        )
        way = "Put the ledger back from a backup, if there is one."
    else:
        what = f"its writes are remembered by the ledger {ledger}, but this write names {name}"
        way = f"Name that ledger: commit_ledger={ledger}."
    return _refused(stream, what, way)


def _in_segments(stream: StreamName, found: Collection[str], identity: UUID, name: str) -> str:
    """The message about a mark in the segments that is not the ledger's, by the tags that the stream has."""
    tag = "although its tag names this one" if found else "and its tag, which named it, was removed"
    what = (
        f"the mark in its segments is not that of the ledger {name} ({identity.hex}): another ledger remembers its "
        f"writes, or this one was deleted, or emptied, and made again since, {tag}"
    )
    return _refused(stream, what, "Name that ledger: commit_ledger=…; or put it back from a backup.")


def _refused(stream: StreamName, what: str, way: str) -> str:
    return (
        f"{stream}: {what}. Nothing was written, because what was written before would be written again. {way} If no "
        f"earlier write will be repeated: `pravega ledger adopt {stream} --ledger SCOPE/TABLE`, with this ledger."
    )
