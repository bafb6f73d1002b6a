"""Pravega as a Spark data source, in Python and Arrow: `spark.read.format("pravega")`.

Spark finds it by itself, because the module's name starts with `pyspark_` and has a `DefaultSource`. Where that is
switched off, `spark.dataSource.register(PravegaDataSource)` does the same.
"""

from typing import TYPE_CHECKING

from pyspark_pravega.source import PravegaDataSource

if TYPE_CHECKING:
    from pyspark_pravega.catalog import register_scope

# The name by which Spark looks for a data source in a module.
DefaultSource = PravegaDataSource

__all__ = ["DefaultSource", "PravegaDataSource", "register_scope"]


def __getattr__(name: str) -> object:
    """Import on first use what Spark does not look for: Spark's sessions wait for all that is imported here."""
    if name == "register_scope":
        from pyspark_pravega.catalog import register_scope

        return register_scope
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
