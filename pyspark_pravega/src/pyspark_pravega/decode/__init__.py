"""Typed rows: events decoded into columns by a schema."""
