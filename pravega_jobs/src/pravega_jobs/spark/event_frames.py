"""Rows of DataFrames as events, for jobs that write them to a stream."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENCODE_OPTION: Final = "encode"
_RAW: Final = "raw"
_EVENT: Final = "event"
_ROUTING_KEY: Final = "routing_key"


def as_events(frame: "DataFrame", options: Mapping[str, str]) -> "DataFrame":
    """The frame as it is if it has a column `event`; else its rows as JSON objects.

    A column `routing_key` stays what it is, and out of the JSON. If the options of the write say how events are
    encoded, the data source makes them of all columns, and the frame stays as it is.
    """
    from pyspark.sql import functions

    encode = next((value for name, value in options.items() if name.lower() == ENCODE_OPTION), _RAW)
    if _EVENT in frame.columns or encode.lower() != _RAW:
        return frame
    keys = [functions.col(_ROUTING_KEY)] if _ROUTING_KEY in frame.columns else []
    values = functions.struct(*(f"`{name}`" for name in frame.columns if name != _ROUTING_KEY))
    # Without the option, a null would look like a column that does not exist.
    event = functions.to_json(values, {"ignoreNullFields": "false"})
    return frame.select(event.alias(_EVENT), *keys)
