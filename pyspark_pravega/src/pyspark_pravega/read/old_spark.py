"""Streaming reads on a Spark that is too old for them: refused with a message that arrives.

Spark 4.1 hides what goes wrong while a reader is made, but shows what the reader raises.
"""

from collections.abc import Iterator
from typing import Any, NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from aiopravega.errors import ConfigurationError


class OldSparkStreamReader(DataSourceStreamReader):
    """Says which Spark is needed, whatever it is asked first."""

    def initialOffset(self) -> NoReturn:  # noqa: N802 - Spark's name
        """Refuse.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            "streaming reads need PySpark 4.2 or newer: older ones do not say where a batch begins, and know no "
            "limit for it. Batch reads work since 4.1"
        )

    def latestOffset(self, *_: Any) -> NoReturn:  # noqa: N802 - Spark's name
        """Refuse.

        Raises:
            ConfigurationError: always.
        """
        self.initialOffset()

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Nothing: it is not called."""
        return iter(())
