"""Typed rows: events decoded into columns by a schema, with one set of options and errors for Spark and for frames.

Columns are Arrow's. `pyspark_pravega` makes Spark's types of them.
"""
