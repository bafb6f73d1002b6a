"""Blocks of Protobuf messages as columns and back; needs Arrow."""
