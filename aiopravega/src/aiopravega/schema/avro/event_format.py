"""Avro datums one by one, by fastavro."""

import json
from io import BytesIO
from typing import Any

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema.avro.hostile import check_of
from aiopravega.schema.avro.model import Named, kind_of
from aiopravega.schema.avro.parsing import parse
from aiopravega.schema.avro.single_events import value_reader
from aiopravega.schema.events import OneByOne, Read, Write
from aiopravega.schema.registry.model import SchemaFormat, SchemaInfo


class AvroFormat(OneByOne):
    """Values of an Avro schema: a record is a dictionary, logical types are Python's.

    In a deserializer, it is the reader's schema; Avro's rules resolve the writer's schema to it.

    Args:
        schema: as text, or parsed by `json.loads`.
        validate: check each value against the schema before it is written, which takes longer than writing it. Without
            the check, fastavro writes an int beyond 32 bits as it is, for example, and Java then cannot read it.

    Raises:
        InvalidSchemaError: it is not an Avro schema.
        ConfigurationError: fastavro is not installed.
    """

    def __init__(self, schema: str | dict[str, Any] | list[Any], *, validate: bool = False) -> None:
        self._validate = validate
        self._fastavro = _fastavro()
        text = schema if isinstance(schema, str) else json.dumps(schema)
        self._schema = parse(text)
        # Java names a schema without a name by its kind.
        name = self._schema.name if isinstance(self._schema, Named) else kind_of(self._schema)
        self.info = SchemaInfo.of(SchemaFormat.AVRO, name, text)

    def writer(self, head: bytes = b"") -> Write:
        write_datum, schema = self._fastavro.schemaless_writer, self._for_writing()
        validate, wrong = self._fastavro.validation.validate, self._fastavro.validation.ValidationError

        def write(value: Any) -> bytes:
            out = BytesIO()
            out.write(head)
            try:
                write_datum(out, schema, value)
            except (TypeError, ValueError, KeyError, AttributeError, OverflowError, IndexError) as error:
                raise ConfigurationError(f"a value does not fit its Avro schema: {error!r}") from None
            return out.getvalue()

        def write_valid(value: Any) -> bytes:
            try:
                validate(value, schema)
            except wrong as error:
                raise ConfigurationError(f"a value does not fit its Avro schema: {error}") from None
            return write(value)

        return write_valid if self._validate else write

    def reader(self, written: SchemaInfo | None = None, skip: int = 0) -> Read:
        writes = self._schema
        if written is not None and written.schema_data != self.info.schema_data:
            writes = parse(written.schema_data, "the Avro schema of the events")
        try:
            read_value = value_reader(self._schema, writes, self._fastavro)
        except RecursionError:
            raise ConfigurationError("the Avro schema of the events is nested too deeply") from None
        check = check_of(writes)

        def read(event: bytes) -> Any:
            if check is not None:
                check(event, skip)
            source = BytesIO(event)
            source.seek(skip)
            try:
                value = read_value(source)
            except (EOFError, ValueError, IndexError, TypeError, KeyError, OverflowError, MemoryError) as error:
                raise MalformedEventError(f"it is not a datum of its Avro schema: {error!r}") from None
            if source.tell() != len(event) and source.read().strip(b"\0"):
                raise MalformedEventError("bytes follow the end of its Avro datum")
            return value

        return read

    def _for_writing(self) -> Any:
        try:
            return self._fastavro.parse_schema(json.loads(self.info.text))
        except (self._fastavro.schema.SchemaParseException, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigurationError(
                f"fastavro cannot write with the Avro schema {self.info.type}: {error!r}"
            ) from None


def _fastavro() -> Any:
    try:
        import fastavro
        import fastavro.schema
        import fastavro.validation
    except ImportError:
        raise ConfigurationError("serializing Avro needs fastavro: pip install 'aiopravega[avro]'") from None
    return fastavro
