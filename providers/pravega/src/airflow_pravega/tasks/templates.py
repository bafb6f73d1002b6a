"""Texts of templates: an argument that is a text gets what its template writes, also as a native Python value.

With `render_template_as_native_obj=True`, Airflow makes a number of the text `20260105`, and of other texts what Python
reads in them. Other tasks may give numbers as well. One rule holds for all arguments of all operators and sensors: a
number stands for its text, and another type is refused by the argument's name. What an argument may be says its type in
the operator's `__init__`.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from numbers import Number
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import BaseOperator, Context, XComArg
from airflow.sdk.definitions.context import render_template_to_string
from jinja2 import Environment
from jinja2.nativetypes import NativeEnvironment

from aiopravega.errors import ConfigurationError
from airflow_pravega.assets import check_outlets

_PACKAGE: Final = "airflow_pravega"
_LISTS: Final = (list, tuple, set, frozenset)


class TemplatedTexts(BaseOperator):
    """The base of all operators and sensors: their templated texts are texts, and Airflow's pages show them alike.

    Outlets that ask for what this Airflow cannot do are refused.
    """

    ui_color = "#d6e9f8"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        try:
            check_outlets(self.outlets)
        except ConfigurationError as error:
            raise AirflowFailException(f"{type(error).__name__}: {error}") from error

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        structured = {name: "json" for name, kind in argument_kinds(cls).items() if _is_structured(kind)}
        renderers = {name: how for name, how in structured.items() if name in cls.template_fields}
        cls.template_fields_renderers = {**cls.template_fields_renderers, **renderers}

    def _do_render_template_fields(
        self,
        parent: Any,
        template_fields: Iterable[str],
        context: Context,
        jinja_env: Environment,
        seen_oids: set[int],
    ) -> None:
        """Render the fields, also for a mapped operator.

        Raises:
            AirflowFailException: a value is of a type that its argument cannot have.
        """
        given = {name: getattr(parent, name) for name in template_fields}
        super()._do_render_template_fields(parent, template_fields, context, jinja_env, seen_oids)
        texts = _Texts(context, jinja_env, tuple(self.template_ext))
        try:
            for name, kind in argument_kinds(parent.__class__).items():
                if name in given:
                    setattr(parent, name, texts.of(name, getattr(parent, name), given[name], kind))
        except ConfigurationError as error:
            raise AirflowFailException(f"{type(error).__name__}: {error}") from error


@cache
def argument_kinds(operator: type) -> dict[str, Any]:
    """The types of an operator's arguments, as far as classes of this package have them."""
    kinds: dict[str, Any] = {}
    for each in inspect.getmro(operator):
        if each.__module__.startswith(_PACKAGE) and "__init__" in vars(each):
            for name, parameter in inspect.signature(vars(each)["__init__"]).parameters.items():
                kinds.setdefault(name, parameter.annotation)
    return kinds


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _is_structured(kind: Any) -> bool:
    return any(get_origin(each) in (Mapping, Sequence, Iterable) for each in _members(kind))


class _Texts:
    def __init__(self, context: Context, environment: Environment, files: tuple[str, ...]) -> None:
        self._context = context
        self._environment = environment if isinstance(environment, NativeEnvironment) else None
        self._files = files

    def of(self, name: str, value: Any, given: Any, kind: Any) -> Any:
        """The value of an argument, or of an item of one.

        Args:
            name: the name for errors.
            value: the rendered value.
            given: the value before it was rendered.
            kind: the type that it may have.
        """
        kinds = _members(kind)
        if int in kinds or isinstance(value, XComArg):  # numbers are read where they are used
            return value
        for each in kinds:
            origin = get_origin(each)
            if origin is Mapping and isinstance(value, Mapping):
                return self._mapping(name, value, given if isinstance(given, Mapping) else {}, get_args(each)[1])
            if origin in (Sequence, Iterable) and isinstance(value, _LISTS):
                before = list(given) if isinstance(given, _LISTS) and len(given) == len(value) else [None] * len(value)
                item = get_args(each)[0]
                items = [
                    self.of(f"{name}[{at}]", *pair, item) for at, pair in enumerate(zip(value, before, strict=True))
                ]
                return type(value)(items)
        if value is None and NoneType in kinds:
            return None
        if str in kinds:
            return value if isinstance(value, datetime) and datetime in kinds else self._text(name, value, given)
        # Of a list of any values, such as events, or of a type that is known to checkers only.
        return self._text(name, value, given) if _is_number(value) else value

    def _mapping(self, name: str, value: Mapping[str, Any], given: Mapping[str, Any], kind: Any) -> dict[str, Any]:
        made = dict(value)
        for key, own in value.items():
            if isinstance(own, bool):
                made[key] = str(own).lower()  # as options of Spark are written
            elif isinstance(own, str) or _is_number(own) or not {"start", "end"} <= value.keys():
                made[key] = self.of(f"{name}[{key!r}]", own, given.get(key), kind)
        return made

    def _text(self, name: str, value: Any, given: Any) -> str:
        written = None
        if self._environment is not None and isinstance(given, str) and not given.endswith(self._files or ("\0",)):
            written = self._written(self._environment, given)
        if written is not None:
            return written
        if isinstance(value, str):
            return value
        if _is_number(value):
            return str(value)
        raise ConfigurationError(f"{name} is of type {type(value).__name__}, but must be a text")

    def _written(self, environment: Environment, template: str) -> str | None:
        """The text that a template writes, as without native values; None: it has a value of another type."""
        values: list[Any] = []

        def as_text(value: Any) -> str:
            values.append(value)
            return str(value)

        made = environment.overlay(finalize=as_text).from_string(template)
        text = render_template_to_string(made, self._context)
        return text if all(isinstance(value, str) or _is_number(value) for value in values) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Number | Decimal) and not isinstance(value, bool)
