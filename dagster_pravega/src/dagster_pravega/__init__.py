"""Pravega for Dagster: resources, stream assets and an IO manager over Spark."""
