"""Protobuf: blocks of messages into Arrow and back, and message types out of descriptor sets."""
