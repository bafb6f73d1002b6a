"""Options in the metadata `pravega/options` for the IO manager of tables; an unknown option is refused by name.

They have the names of the options of Spark's data source, so that one stream has one set for all of its readers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from aiopravega.errors import ConfigurationError
from pravega_jobs.spark.options import (
    COLUMNS_OPTION,
    INTERVAL_OPTIONS,
    LEDGER_OPTION,
    TIME_OPTION,
    TIME_UNIT_OPTION,
    UNSPLIT,
)

RAW: Final = "raw"
AUTO: Final = "auto"
_FORMATS: Final = (RAW, AUTO, "json", "avro", "protobuf")
_FAIL, _DROP = "fail", "drop"
_DECODE: Final = "decode"
_ENCODE: Final = "encode"
_ON_ERROR: Final = "on_error"
_SCHEMA: Final = "schema_text"
_TYPE: Final = "schema_type"
_GROUP: Final = "schema_registry_group"
_NAMESPACE: Final = "schema_registry_namespace"
# Options of intervals, which are known already when these options are read, and of Spark's division of its work.
_WITHOUT_EFFECT: Final = (*INTERVAL_OPTIONS, *UNSPLIT)
_KNOWN: Final = (
    _DECODE,
    _ENCODE,
    _ON_ERROR,
    COLUMNS_OPTION,
    _SCHEMA,
    _TYPE,
    _GROUP,
    _NAMESPACE,
    TIME_OPTION,
    TIME_UNIT_OPTION,
)


@dataclass(frozen=True, slots=True)
class ArrowOptions:
    """Options of decoding events into columns, and of encoding columns as events.

    `decode` is None if it is not given: then a schema of the registry is used if there is one. `encode` is None for
    JSON objects without a schema, or events as they are. `columns` name the fields of JSON events, as SQL writes them.
    """

    decode: str | None = None
    encode: str | None = None
    drops: bool = False
    schema: str | None = None
    type: str | None = None
    group: str | None = None
    namespace: str | None = None
    time: str | None = None
    columns: str | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read the options.

        Raises:
            ConfigurationError: an option is not known, or its value is not valid.
        """
        given = {name.lower(): value for name, value in options.items()}
        unknown = [name for name in given if name not in (*_KNOWN, *_WITHOUT_EFFECT, LEDGER_OPTION)]
        if unknown:
            raise ConfigurationError(
                f"the option {unknown[0]!r} is not one of tables and record batches, which know {', '.join(_KNOWN)}: "
                "leave it out, or use PravegaSparkIOManager"
            )
        parsed = cls(
            _one_of(given, _DECODE, _FORMATS),
            _one_of(given, _ENCODE, (AUTO,)),
            _one_of(given, _ON_ERROR, (_FAIL, _DROP)) == _DROP,
            given.get(_SCHEMA),
            given.get(_TYPE),
            given.get(_GROUP),
            given.get(_NAMESPACE),
            given.get(TIME_OPTION),
            given.get(COLUMNS_OPTION) or None,
        )
        if parsed.columns is not None and (parsed.decode != "json" or parsed.schema is not None):
            raise ConfigurationError(
                f"the option {COLUMNS_OPTION!r} needs {_DECODE!r} as json, without {_SCHEMA!r}: the columns of other "
                "events come from their schema"
            )
        if parsed.schema is not None and parsed.decode not in ("json", "avro"):
            raise ConfigurationError(
                f"the option {_SCHEMA!r} needs {_DECODE!r} as json or avro; other schemas come from the registry"
            )
        return parsed


def _one_of(given: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str | None:
    if name not in given:
        return None
    text = given[name].lower()
    if text not in choices:
        raise ConfigurationError(f"the option {name!r} is {given[name]!r}, but must be one of {', '.join(choices)}")
    return text
