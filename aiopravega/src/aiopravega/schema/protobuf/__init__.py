"""Protobuf: message types from descriptor sets, their compatibility, blocks of events as columns and back."""
