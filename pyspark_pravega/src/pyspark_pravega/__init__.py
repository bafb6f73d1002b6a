"""Pravega as a Spark data source, in Python and Arrow: `spark.read.format("pravega")`.

Spark finds it by itself, because the module's name starts with `pyspark_` and has a `DefaultSource`. Where that is
switched off, `spark.dataSource.register(PravegaDataSource)` does the same.
"""

from pyspark_pravega.source import PravegaDataSource

# The name by which Spark looks for a data source in a module.
DefaultSource = PravegaDataSource

__all__ = ["DefaultSource", "PravegaDataSource"]
