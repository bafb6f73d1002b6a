"""Formats of single events: the interface, and custom formats."""
