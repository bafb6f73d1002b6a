"""The blocking form of `aiopravega.schema.open.blocks`: whole blocks of events; needs the extra `arrow`."""

from typing import Any

from aiopravega.blocking.bridge import Face, mirrors, shows, waits
from aiopravega.schema.arrow.block import DecodedBlock
from aiopravega.schema.open import blocks as aio

__all__ = ["BlockReader", "open_block_reader", "open_block_serializer"]


class BlockReader(Face[aio.BlockReader]):
    """Decodes blocks of a group's events into columns, in the caller's thread. Each encoding id is asked for once."""

    schema = shows(aio.BlockReader.schema)

    @mirrors(aio.BlockReader.decode)
    def decode(self, events: Any) -> DecodedBlock:
        self._learn(events)
        return self.asynchronous.blocks.decode(events)

    @mirrors(aio.BlockReader.batch)
    def batch(self, events: Any) -> Any:
        self._learn(events)
        return self.asynchronous.blocks.batch(events)

    # Arrow's types are Any for mypy, and only the rooms of blocks may import it.
    def _learn(self, events: Any) -> None:
        if unknown := self.asynchronous.unknown(events):
            self.run(self.asynchronous.learn(unknown))


open_block_serializer = waits(aio.open_block_serializer)
open_block_reader = waits(aio.open_block_reader, BlockReader)
