"""Protobuf: message types out of descriptor sets, their compatibility, blocks of events as columns and back."""
