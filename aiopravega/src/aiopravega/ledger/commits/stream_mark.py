"""The mark on a stream that says which ledger remembers its writes: a tag, with the ledger's identity and its name.

Without it, a write that names another ledger, or one whose table was deleted and made again, would find nothing there
and write everything a second time. An identity is made once, with the first mark, as an entry of the ledger's table.
"""

import asyncio
import random
from dataclasses import replace
from typing import Final
from uuid import UUID

from aiopravega.control import Controller, amend_stream
from aiopravega.errors import ConfigurationError, SecurityError, ServerError, StreamSealedError, WrongLedgerError
from aiopravega.names import StreamName

_PREFIX: Final = "commit-ledger="
# Of a tag; an identity always fits, and a name that does not is cut off.
_LONGEST: Final = 256
# Writes that start at the same time mark a stream together; the pause between two tries is in seconds.
_TRIES: Final = 10
_PAUSE: Final = (0.1, 0.5)


def tag_of(identity: UUID, name: str) -> str:
    """The tag of the streams whose writes a ledger remembers."""
    return f"{_PREFIX}{identity.hex}={name}"[:_LONGEST]


async def mark(
    controller: Controller, stream: StreamName, identity: UUID, name: str, *, adopt: bool = False
) -> str | None:
    """Mark a stream with the ledger of its writes, or check the mark that it has; `adopt` replaces another one.

    An account that may write to a stream and not change it leaves it without a mark; so do a stream that is sealed, and
    one that has as many tags as it may have.

    Returns:
        Why the stream could not be marked, for a warning; None: it is marked.

    Raises:
        WrongLedgerError: the stream has the mark of another ledger.
        ServerError: the controller refuses to change the stream.
        StreamNotFoundError: the stream does not exist.
    """
    wanted = tag_of(identity, name)
    for tries_left in reversed(range(_TRIES)):
        configuration = await controller.stream_configuration(stream)
        found = [tag for tag in configuration.tags if tag.startswith(_PREFIX)]
        if found == [wanted]:  # what was put is read again: another write may have marked the stream meanwhile
            return None
        if found and not adopt:
            raise WrongLedgerError(_difference(stream, found[0], identity, name))
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


def _difference(stream: StreamName, found: str, identity: UUID, name: str) -> str:
    known, _, ledger = found.removeprefix(_PREFIX).partition("=")
    if ledger == name:
        what = (
            f"the ledger {name} was deleted, or emptied, and made again since (it was {known}, and is {identity.hex})"
        )
        way = "Put the ledger back from a backup, if there is one."
    else:
        what = f"its writes are remembered by the ledger {ledger}, but this write names {name}"
        way = f"Name that ledger: commit_ledger={ledger}."
    return (
        f"{stream}: {what}. Nothing was written, because what was written before would be written again. {way} If no "
        f"earlier write will be repeated: `pravega ledger adopt --stream {stream}`, with this ledger's scope and table."
    )
