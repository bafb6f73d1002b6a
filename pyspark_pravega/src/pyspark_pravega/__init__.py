"""Pravega as a Spark data source, in Python and Arrow."""
