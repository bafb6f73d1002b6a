"""The columns of a write: which of a DataFrame's columns are what, found before work starts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from aiopravega.errors import ConfigurationError

EVENT: Final = "event"
ROUTING_KEY: Final = "routing_key"
_SHAPE: Final = "a write takes the columns 'event' (string or binary) and, if wanted, 'routing_key' (string)"


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """Places of the columns in every batch."""

    event: int
    routing_key: int | None

    @classmethod
    def find(cls, schema: StructType) -> Self:
        """Find the columns in a DataFrame's schema.

        Raises:
            ConfigurationError: a column is missing, of a wrong type, or one that no write knows.
        """
        names = schema.fieldNames()
        for field in schema.fields:
            if field.name not in (EVENT, ROUTING_KEY):
                raise ConfigurationError(
                    f"column {field.name!r} ({field.dataType.simpleString()}) is not part of a write: {_SHAPE}. "
                    f"Drop it, or put it into the event, for example event = to_json(struct({_list(names)}))."
                )
        if EVENT not in names:
            raise ConfigurationError(f"column 'event' is missing, there are {_list(names) or 'no columns'}: {_SHAPE}")
        for field in schema.fields:
            _check_type(field)
        return cls(names.index(EVENT), names.index(ROUTING_KEY) if ROUTING_KEY in names else None)

    def events(self, batch: pa.RecordBatch) -> pa.Array:
        """The events of a batch."""
        return batch.column(self.event)

    def keys(self, batch: pa.RecordBatch) -> pa.Array | None:
        """The routing keys of a batch, or None if no row has one."""
        if self.routing_key is None:
            return None
        keys = batch.column(self.routing_key)
        return None if keys.null_count == len(keys) else keys


def _check_type(field: StructField) -> None:
    allowed: tuple[type, ...] = (StringType, BinaryType) if field.name == EVENT else (StringType,)
    if isinstance(field.dataType, allowed):
        return
    remedy = f"encode it, for example with to_json(struct({EVENT}))" if field.name == EVENT else "cast it to string"
    raise ConfigurationError(f"column {field.name!r} is {field.dataType.simpleString()}, but {_SHAPE}: {remedy}")


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
