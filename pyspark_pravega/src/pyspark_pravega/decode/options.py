"""What a user may say about decoding: read once, on the driver."""

from dataclasses import dataclass
from typing import Final, Self

from aiopravega.errors import ConfigurationError
from pyspark_pravega.options import Options

RAW: Final = "raw"
DECODE_OPTIONS: Final = ("decode",)


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """How events become columns."""

    format: str = RAW

    @classmethod
    def parse(cls, given: Options) -> Self:
        """Read the options of decoding.

        Raises:
            ConfigurationError: one cannot work.
        """
        wanted = (given.text("decode") or RAW).lower()
        if wanted != RAW:
            raise ConfigurationError(f"option 'decode' is {wanted!r}, but must be {RAW}")
        return cls(wanted)
