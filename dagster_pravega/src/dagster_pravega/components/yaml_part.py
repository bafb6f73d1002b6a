"""The base of all that a component's file has: fields with types that `dg check yaml` checks.

A file is checked by its JSON schema (`dg check yaml`), again when it is read, and once more when its templates have
their values. A text with a template, such as `{{ env.REGION }}`, passes the first two. A field that does not exist is
refused with those that do. No error shows a value, which may be a secret.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, Self, Union, get_args, get_origin

import dagster as dg
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

_TEMPLATE: Final = r"\{[{%#]"
_A_TEMPLATE: Final = {"type": "string", "pattern": _TEMPLATE}
_KINDS: Final[Mapping[str, JsonSchemaValue]] = {
    **{kind: {"type": kind} for kind in ("string", "integer", "number", "boolean", "object")},
    "array": {"type": "array", "items": {}},
}
_HIDDEN: Final = "not shown"


class YamlPart(dg.Model, dg.Resolvable):
    """A component, or a part of one, with the fields of its file. An instance has the values of all templates."""

    model_config = ConfigDict(hide_input_in_errors=True, coerce_numbers_to_str=True)
    # Names that are no fields on purpose, and why: errors say so.
    instead: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def model(cls) -> type[BaseModel]:
        """The types of the file; called by Dagster."""
        return _file_model(cls)

    @classmethod
    def resolve_from_model(cls, context: dg.ResolutionContext, model: BaseModel) -> Self:
        """The part of a file, with the values of its templates; called by Dagster."""
        return cls(**_filled_in(context, model.model_dump(exclude_unset=True, warnings=False)))

    @classmethod
    def without(cls, name: str) -> str:
        """The reason why a name is not a field, and what to do, as text."""
        if name in cls.instead:
            return cls.instead[name]
        known = list(cls.model_fields)
        close = get_close_matches(name, known, n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        return f"{name!r} is not a field.{meant} The fields are {', '.join(known)}"


class Unfilled:
    """A mark of fields that take no template: its value is read as if the file had it."""


class _Text:
    """The type of a value in a file: a template passes, and has a value later."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            lambda value, check: value if is_template(value) else check(value), handler(source)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        wanted = handler(schema)
        given = wanted.get("anyOf", [wanted])
        choices = [each for each in given if each.get("type") != "null"]
        passes: list[JsonSchemaValue] = [_A_TEMPLATE, *([] if len(choices) == len(given) else [{"type": "null"}])]
        if choices == [{"type": "string"}]:
            return wanted
        # The kinds are what Dagster's pages show. A failed `anyOf` would only say that a value is none of its choices,
        # so the condition below has the real schema.
        kinds = [_KINDS[str(handler.resolve_ref_schema(each).get("type"))] for each in choices]
        shown = [each for index, each in enumerate(kinds) if each not in kinds[:index]]
        other = [each for each in ({"type": "string"}, *passes[1:]) if each not in shown]
        return {
            "anyOf": [*shown, *other],
            "if": {"anyOf": passes},
            "else": choices[0] if len(choices) == 1 else {"anyOf": choices},
        }


def is_template(value: Any) -> bool:
    """Return True if a value of a file is a text with a template."""
    return isinstance(value, str) and re.search(_TEMPLATE, value) is not None


def refused(message: str, *names: str | int) -> ValidationError:
    """The error of a value, or of the fields below it with these names, which does not show it."""
    details = InitErrorDetails(type="value_error", loc=names, input=_HIDDEN, ctx={"error": ValueError(message)})
    return ValidationError.from_exception_data("attributes", [details])


class _FileModel(dg.Model):
    """The base of the types of a file."""

    model_config = ConfigDict(hide_input_in_errors=True)

    part: ClassVar[type[YamlPart]]

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: Any) -> Any:
        unknown = [name for name in values if name not in cls.model_fields] if isinstance(values, Mapping) else []
        if unknown:
            raise refused(cls.part.without(str(unknown[0])), str(unknown[0]))
        return values


@cache
def _file_model(part: type[YamlPart]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, field in part.model_fields.items():
        kind = _in_file(field.rebuild_annotation())
        if not any(isinstance(each, Unfilled) for each in field.metadata):
            kind = Annotated[kind, _Text()]
        default = (
            {}
            if field.is_required()
            else {"default_factory": field.default_factory}
            if field.default_factory is not None
            else {"default": field.default}
        )
        fields[name] = (kind, Field(**default, description=field.description, examples=field.examples))
    made = create_model(part.__name__, __base__=_FileModel, __doc__=part.__doc__, **fields)
    made.part = part
    # Dagster's pages show the fields in this order.
    made.model_config["json_schema_extra"] = {"ui:order": list(fields)}
    return made


def _in_file(kind: Any) -> Any:
    """The type of a field as a file has it: so are the parts in it."""
    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, YamlPart):
        return kind.model()
    if origin is Annotated:
        return Annotated[_in_file(inner[0]), *inner[1:]]
    if origin in (Union, UnionType):
        return Union[tuple(_in_file(each) for each in inner)]  # noqa: UP007  # as many as there are
    if origin is None or origin is Literal or not inner:
        return kind
    return origin[tuple(_in_file(each) for each in inner)]


def _filled_in(context: dg.ResolutionContext, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _filled_in(context.at_path(name), each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_filled_in(context.at_path(index), each) for index, each in enumerate(value)]
    return context.resolve_value(value) if is_template(value) else value
