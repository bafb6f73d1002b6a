"""Writes: events and blocks of events to a stream, plainly or in transactions."""
