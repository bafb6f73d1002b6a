"""Metadata of streams and ranges: specs, columns, cuts, measures."""
