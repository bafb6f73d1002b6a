"""Writes: rows as events, each once."""
