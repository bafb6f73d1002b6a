"""Pravega as a Spark data source, in Python and Arrow: `spark.read.format("pravega")`.

Spark finds the source itself, because this package's name starts with `pyspark_` and it has a `DefaultSource`. Where
that is switched off, call `spark.dataSource.register(PravegaDataSource)`.
"""

from typing import TYPE_CHECKING

from pyspark_pravega.source import PravegaDataSource

if TYPE_CHECKING:
    from pyspark_pravega.catalog import register_scope

# The name by which Spark looks for a data source in a module.
DefaultSource = PravegaDataSource

__all__ = ["DefaultSource", "PravegaDataSource", "register_scope"]


def __getattr__(name: str) -> object:
    """Import `register_scope` on first use: every session of Spark waits for the imports of this module."""
    if name == "register_scope":
        from pyspark_pravega.catalog import register_scope

        return register_scope
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
