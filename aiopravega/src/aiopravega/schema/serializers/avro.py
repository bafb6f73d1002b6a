"""Avro datums one by one, by fastavro."""

import json
from io import BytesIO
from typing import Any

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema.model import SchemaFormat, SchemaInfo
from aiopravega.schema.serializers.format import Read, ReadAll, Write, WriteAll, all_by


class AvroFormat:
    """Values of an Avro schema: a record is a dictionary, logical types are Python's.

    As a deserializer's, it is the reader's schema, to which Avro's rules lead from the writer's.

    Args:
        schema: as text, or as what `json.loads` makes of it.
        validate: hold each value against the schema before it is written, which takes longer than writing it: fastavro
            writes an int beyond 32 bits as it is, for example, and Java then cannot read it.

    Raises:
        ConfigurationError: it is no Avro schema, or fastavro is not installed.
    """

    def __init__(self, schema: str | dict[str, Any] | list[Any], *, validate: bool = False) -> None:
        self._validate = validate
        self._fastavro = _fastavro()
        self._parsed = self._parse(schema)
        text = schema if isinstance(schema, str) else json.dumps(schema)
        named = isinstance(self._parsed, dict) and "name" in self._parsed
        name = self._parsed["name"] if named else _name_of(self._parsed)
        self.info = SchemaInfo.of(SchemaFormat.AVRO, name, text)

    def _parse(self, schema: str | dict[str, Any] | list[Any], what: str = "the Avro schema") -> Any:
        try:
            document = json.loads(schema) if isinstance(schema, str) else schema
        except ValueError as error:
            raise ConfigurationError(f"{what} is not JSON: {error}") from None
        try:
            return self._fastavro.parse_schema(document)
        except self._fastavro.schema.SchemaParseException as error:
            raise ConfigurationError(f"{what} cannot be parsed: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigurationError(f"{what} cannot be parsed: {error!r}") from None

    def writer(self, head: bytes = b"") -> Write:
        """See `EventFormat`."""
        write_datum, schema = self._fastavro.schemaless_writer, self._parsed
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
        """See `EventFormat`."""
        read_datum, reads = self._fastavro.schemaless_reader, self._parsed
        writes = reads if written is None else self._parse(written.text, "the Avro schema of the events")
        wanted = None if written is None or writes == reads else reads
        resolution = self._fastavro.read.SchemaResolutionError

        def read(event: bytes) -> Any:
            source = BytesIO(event)
            source.seek(skip)
            try:
                value = read_datum(source, writes, wanted)
            except resolution as error:
                raise MalformedEventError(f"its Avro schema does not fit the one that is read with: {error}") from None
            except (EOFError, ValueError, IndexError, TypeError, KeyError, OverflowError, MemoryError) as error:
                raise MalformedEventError(f"it is no datum of its Avro schema: {error!r}") from None
            if source.tell() != len(event) and source.read().strip(b"\0"):
                raise MalformedEventError("it goes on behind the end of its Avro datum")
            return value

        return read

    def list_writer(self, head: bytes = b"") -> WriteAll:
        """See `EventFormat`."""
        return all_by(self.writer(head))

    def list_reader(self, written: SchemaInfo | None = None, skip: int = 0) -> ReadAll:
        """See `EventFormat`."""
        return all_by(self.reader(written, skip))


def _name_of(schema: Any) -> str:
    """What Java calls a schema without a name of its own."""
    if isinstance(schema, list):
        return "union"
    return str(schema.get("type")) if isinstance(schema, dict) else str(schema)


def _fastavro() -> Any:
    try:
        import fastavro
        import fastavro.read
        import fastavro.schema
        import fastavro.validation
    except ImportError:
        raise ConfigurationError("serializing Avro needs fastavro: pip install 'aiopravega[avro]'") from None
    return fastavro
