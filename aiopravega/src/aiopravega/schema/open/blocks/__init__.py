"""Whole blocks of events with the registry: columns into events and back, in any format; needs Arrow."""

from aiopravega.schema.open.blocks.opening import BlockReader, open_block_reader, open_block_serializer

__all__ = ["BlockReader", "open_block_reader", "open_block_serializer"]
