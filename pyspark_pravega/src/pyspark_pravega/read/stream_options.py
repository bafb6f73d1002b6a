"""What a user may say about a streaming query: read once, on the driver."""

from dataclasses import dataclass
from typing import Final, Self

from pyspark_pravega.options import Options

STREAMING_OPTIONS: Final[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class StreamingOptions:
    """The settings of a streaming query that a batch job has no use for."""

    @classmethod
    def parse(cls, given: Options) -> Self:
        """Read the options of streaming.

        Raises:
            ConfigurationError: one cannot work.
        """
        return cls()
