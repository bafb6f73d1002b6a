"""JSON values one by one, by the standard library, and models of pydantic."""

import json
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, Self

from pydantic import BaseModel, ValidationError

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema.events import OneByOne, Read, Write
from aiopravega.schema.json.dialect import dialect_of, with_required_lists
from aiopravega.schema.registry.model import SchemaFormat, SchemaInfo

_DECODER: Final = json.JSONDecoder()
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_NOT_FINITE: Final = ("null", "NaN", "Infinity")
_LONGEST_COMPLAINT: Final = 300


class JsonFormat(OneByOne):
    """Values of a JSON Schema: the values of the module `json`, or models of pydantic.

    JSON has no NaN and no infinities: a value with one is refused, because a reader would get a text or nothing. Models
    with `ser_json_inf_nan="strings"` write them as "NaN", "Infinity" and "-Infinity", which typed columns also read.

    Args:
        schema: the JSON Schema as text, or as a dictionary.
        type_name: the type's name in the registry.
        validate: check each value against the schema when it is written and read, which takes many times as long as
            the work itself. It needs jsonschema: the extra `json`.

    Raises:
        ConfigurationError: the schema is not a JSON Schema.
    """

    def __init__(self, schema: str | dict[str, Any], type_name: str, *, validate: bool = False) -> None:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        try:
            document = json.loads(text)
        except ValueError as error:
            raise ConfigurationError(f"the JSON Schema is not JSON: {error}") from None
        if not isinstance(document, (dict, bool)):
            raise ConfigurationError("the JSON Schema is not an object")
        self.info = SchemaInfo.of(SchemaFormat.JSON, type_name, text)
        self._problem = _validator(document) if validate else None
        self._model: type[BaseModel] | None = None

    @classmethod
    def of_model(cls, model: type[BaseModel], type_name: str | None = None) -> Self:
        """Models of pydantic, which check values that are read and written; the schema is the model's."""
        made = cls(model.model_json_schema(), type_name or model.__name__)
        made._model = model
        return made

    def writer(self, head: bytes = b"") -> Write:
        encode, problem, model = _ENCODER.encode, self._problem, self._model
        as_texts = model is not None and model.model_config.get("ser_json_inf_nan") == "strings"

        def may_be_lost(text: str) -> bool:
            """True if pydantic may have written NaN or an infinity as null, which is not read as a float, or bare."""
            return not as_texts and any(word in text for word in _NOT_FINITE)

        def write(value: Any) -> bytes:
            try:
                return head + encode(value).encode()
            except (TypeError, ValueError, RecursionError) as error:
                raise ConfigurationError(f"a value cannot be JSON: {error}") from None

        def write_valid(value: Any) -> bytes:
            if problem is not None and (wrong := problem(value)):
                raise ConfigurationError(f"a value does not fit its JSON Schema: {wrong}")
            return write(value)

        def write_model(value: Any) -> bytes:
            if not isinstance(value, model or BaseModel):
                raise ConfigurationError(f"a value does not fit its schema: it is {type(value).__name__}")
            text = value.model_dump_json(by_alias=True)
            if may_be_lost(text) and _has_not_finite(value.model_dump()):
                raise ConfigurationError(
                    f"a {type(value).__name__} cannot be JSON, which has no NaN and no infinities: give the field "
                    "None, or the model ser_json_inf_nan='strings'"
                )
            return head + text.encode()

        if model is not None:
            return write_model
        return write if problem is None else write_valid

    def reader(self, written: SchemaInfo | None = None, skip: int = 0) -> Read:
        """See `EventFormat`; the fields of an event are found by their names; its writer's schema does not matter."""
        scan, problem, model = _DECODER.raw_decode, self._problem, self._model

        def read(event: bytes) -> Any:
            try:
                text = event[skip:].decode()
                value, end = scan(text)
                if end != len(text) and text[end:].strip("\0 \t\r\n"):
                    raise MalformedEventError("bytes follow the end of its JSON value")
            except (ValueError, RecursionError):
                return read_with_care(event)
            return value

        def read_with_care(event: bytes) -> Any:
            """Read an event that begins with white space, or refuse it with the reason."""
            try:
                return json.loads(event[skip:].rstrip(b"\0"))
            except ValueError as error:
                raise MalformedEventError(f"it is not JSON: {error}") from None
            except RecursionError:
                raise MalformedEventError("it is JSON that is nested too deeply") from None

        def read_valid(event: bytes) -> Any:
            value = read(event)
            if problem is not None and (wrong := problem(value)):
                raise MalformedEventError(f"it does not fit its JSON Schema: {wrong}")
            return value

        def read_model(event: bytes) -> Any:
            try:
                return (model or BaseModel).model_validate_json(event[skip:].rstrip(b"\0"))
            except ValidationError as error:
                raise MalformedEventError(f"it is not a {(model or BaseModel).__name__}: {error}") from None

        if model is not None:
            return read_model
        return read if problem is None else read_valid


def _has_not_finite(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(_has_not_finite(each) for each in value.values())
        case list() | tuple() | set():
            return any(_has_not_finite(each) for each in value)
    return False


def _validator(document: Any) -> Callable[[Any], str]:
    """A function that gives the first error of a value; empty if it is valid."""
    try:
        jsonschema: Any = import_module("jsonschema")
    except ImportError:
        raise ConfigurationError("validating JSON needs jsonschema: pip install 'aiopravega[json]'") from None
    kind = jsonschema.validators.validator_for({"$schema": dialect_of(document)})
    if kind is not jsonschema.Draft3Validator:
        document = with_required_lists(document)
    try:
        kind.check_schema(document)
    except jsonschema.SchemaError as error:
        raise ConfigurationError(f"the JSON Schema is not valid: {error.message[:_LONGEST_COMPLAINT]}") from None
    # With the known drafts alone, nothing is fetched from the addresses that a schema may refer to.
    validator = kind(document, registry=import_module("jsonschema_specifications").REGISTRY)
    unresolvable = import_module("referencing.exceptions").Unresolvable

    def problem(value: Any) -> str:
        try:
            for error in validator.iter_errors(value):
                return f"{error.json_path}: {error.message[:_LONGEST_COMPLAINT]}"
        except unresolvable as error:
            return f"the schema has a reference to something outside of it: {error}"
        except RecursionError:
            return "it, or the schema, is nested too deeply to be compared"
        return ""

    return problem
