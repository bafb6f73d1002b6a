"""Reads: ranges of streams as rows, in batches and in micro-batches."""
