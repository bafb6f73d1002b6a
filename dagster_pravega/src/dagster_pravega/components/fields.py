"""Types of fields in components' files: lengths of time, schedules, names of variables, options without secrets."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias

import dagster as dg
from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.intervals.plans.steps import Step
from aiopravega.positions import parse_position
from dagster_pravega.components.yaml_part import Unfilled, YamlPart, refused
from dagster_pravega.metadata.spec import refuse_secrets

_VARIABLE: Final = r"^[A-Z_][A-Z0-9_]*$"
_LENGTH: Final = r"^ *0*[1-9][0-9]* ?[smhdwSMHDW] *$"


def time_of(value: str | timedelta) -> timedelta:
    """The length of time of a text such as `30m`.

    Raises:
        ValueError: the text is not a length of time, or has months.
    """
    if isinstance(value, timedelta):
        return value
    try:
        step = Step.parse(str(value))
    except ConfigurationError as error:
        raise ValueError(str(error)) from None
    if step.months:
        raise ValueError(f"{value!r}: a month has no fixed length: give days, such as 30d")
    return step.length


def _numbers(kinds: str, names: str = "") -> str:
    number = f"(?:{kinds}{'|' + names if names else ''})"
    each = rf"(?:\*|{number}(?:-{number})?)(?:/[0-9]+)?"
    return f"{each}(?:,{each})*"


_MONTHS: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DAYS: Final = "sun|mon|tue|wed|thu|fri|sat"
_CRON: Final = (
    "^(?:@(?:hourly|daily|midnight|weekly|monthly|yearly|annually)|"
    + " +".join(
        (
            _numbers("[0-5]?[0-9]"),
            _numbers("[01]?[0-9]|2[0-3]"),
            _numbers("0?[1-9]|[12][0-9]|3[01]|[lL]"),
            _numbers("0?[1-9]|1[0-2]", f"{_MONTHS}|{_MONTHS.upper()}"),
            _numbers("[0-7](?:#[1-5])?|[lL][0-7]", f"{_DAYS}|{_DAYS.upper()}"),
        )
    )
    + ")$"
)


def _cron(text: str) -> str:
    if not re.match(_CRON, text):
        raise ValueError(f"{text!r} is not a schedule of cron: minute, hour, day, month, weekday, such as */5 * * * *")
    return text


def _position(text: str) -> str:
    try:
        parse_position(text)
    except PravegaError as error:
        raise ValueError(str(error)) from None
    return text


def _stream(text: str) -> str:
    try:
        return str(StreamName.parse(text))
    except PravegaError as error:
        raise ValueError(str(error)) from None


def check_variable(name: str) -> str:
    """The name of a variable of the environment.

    Raises:
        ValueError: it may be a secret itself, or is a template.
    """
    if not re.match(_VARIABLE, name):
        raise refused(
            "give the name of a variable of the environment in capitals, such as PRAVEGA_PASSWORD, not a value or a "
            "template: a value would be kept in Dagster's database"
        )
    return name


def _without_secrets(options: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        refuse_secrets(options)
    except ConfigurationError as error:
        raise refused(str(error)) from None
    return options


def matching(pattern: str, expected: str) -> JsonSchemaValue:
    """The schema of texts that match a pattern; `dg check yaml` says what is expected instead of the pattern."""
    return {"type": "string", "if": {"pattern": pattern}, "else": {"const": expected}}


def texts_without(names: str, expected: str) -> JsonSchemaValue:
    """The schema of named texts or numbers whose names match a pattern."""
    return {
        "type": "object",
        "propertyNames": matching(names, expected),
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    }


NO_SECRETS: Final = texts_without("^(?!.*([pP]assword|[tT]oken)$)", "an option that is not a secret")
Length: TypeAlias = Annotated[
    timedelta, BeforeValidator(time_of), WithJsonSchema(matching(_LENGTH, "a length of time: 90s, 30m, 6h, 7d, 2w"))
]
Cron: TypeAlias = Annotated[
    str,
    AfterValidator(_cron),
    WithJsonSchema(matching(_CRON, "a schedule of cron: minute, hour, day, month, weekday, such as */5 * * * *")),
]
StreamText: TypeAlias = Annotated[
    str, AfterValidator(_stream), WithJsonSchema(matching("^ *[^/ ]+/[^/ ]+ *$", "scope/stream, such as shop/orders"))
]
Position: TypeAlias = Annotated[
    str,
    AfterValidator(_position),
    WithJsonSchema(
        matching(r"^(?:[A-Za-z0-9+/]{8,}=*|earliest|latest|unbounded)$", "the text of a cut, earliest or latest")
    ),
]
Since: TypeAlias = Literal["last", "latest"]
# The name of a variable of the environment that has a secret.
Variable: TypeAlias = Annotated[
    str,
    AfterValidator(check_variable),
    WithJsonSchema(matching(_VARIABLE, "the name of a variable of the environment, such as PRAVEGA_PASSWORD")),
]
VARIABLE: Final = Unfilled()
Options: TypeAlias = Annotated[
    Mapping[str, str | int | float | bool],
    AfterValidator(_without_secrets),
    WithJsonSchema(NO_SECRETS),
]
Condition: TypeAlias = Annotated[
    InstanceOf[dg.AutomationCondition[Any]],
    WithJsonSchema({"type": "string", "const": "a template, such as {{ dg.AutomationCondition.eager() }}"}),
]
Partitions: TypeAlias = Annotated[
    InstanceOf[dg.PartitionsDefinition[Any]],
    WithJsonSchema({"type": "string", "const": "a template, such as {{ dg.DailyPartitionsDefinition('2026-01-01') }}"}),
]


class Freshness(YamlPart):
    """The age that the newest materialization of an asset may have. Times are texts such as `30m` or `6h`."""

    fail_after: Length = Field(description="age at which the asset fails", examples=["6h"])
    warn_after: Length | None = Field(default=None, description="age at which it warns, less than fail_after")

    @property
    def policy(self) -> dg.FreshnessPolicy:
        """The policy of Dagster."""
        return dg.FreshnessPolicy.time_window(fail_window=self.fail_after, warn_window=self.warn_after)


class AssetPart(YamlPart):
    """The attributes that assets of Dagster have, as `dagster.AssetSpec` takes them."""

    group_name: str | None = Field(default=None, description="group of the asset", examples=["sales"])
    description: str | None = Field(default=None, description="of the asset")
    tags: Mapping[str, str] = Field(default={}, description="tags of the asset", examples=[{"domain": "sales"}])
    owners: list[str] = Field(
        default=[], description="owners of the asset: addresses of mail, or team:name", examples=[["team:sales"]]
    )
    kinds: list[str] = Field(
        default=[], description="labels of the asset, beside those that it has by itself", examples=[["bronze"]]
    )
    metadata: Mapping[str, Any] = Field(default={}, description="more metadata of the asset")
    deps: list[str] = Field(
        default=[], description="keys of more assets that come before it", examples=[["shop/customers"]]
    )
    code_version: str | None = Field(default=None, description="version of the code that makes it", examples=["3"])
    automation_condition: Condition | None = Field(
        default=None,
        description="a template that gives the condition, instead of a schedule",
        examples=["{{ dg.AutomationCondition.eager() }}"],
    )
    freshness_policy: Freshness | SkipJsonSchema[InstanceOf[dg.FreshnessPolicy]] | None = Field(
        default=None, description="how old the asset may be, or a template that gives a policy"
    )
    partitions_def: Partitions | None = Field(
        default=None,
        description="a template that gives the partitions",
        examples=["{{ dg.DailyPartitionsDefinition('2026-01-01') }}"],
    )

    def attributes(self, cron: str | None) -> dict[str, Any]:
        """The arguments that `AssetSpec` and `asset` share; those that the file does not give are left out.

        Args:
            cron: the schedule of the asset, instead of a condition.

        Raises:
            ConfigurationError: there are both a schedule and a condition.
        """
        if cron is not None and self.automation_condition is not None:
            raise ConfigurationError("give a schedule of cron or an automation_condition, not both")
        condition = self.automation_condition if cron is None else dg.AutomationCondition.on_cron(cron)
        freshness = self.freshness_policy.policy if isinstance(self.freshness_policy, Freshness) else None
        given: dict[str, Any] = {
            "group_name": self.group_name,
            "description": self.description,
            "tags": dict(self.tags),
            "owners": list(self.owners),
            "kinds": set(self.kinds),
            "metadata": dict(self.metadata),
            "deps": [dg.AssetKey.from_user_string(key) for key in self.deps],
            "code_version": self.code_version,
            "automation_condition": condition,
            "freshness_policy": freshness or self.freshness_policy,
            "partitions_def": self.partitions_def,
        }
        return {name: value for name, value in given.items() if value}


def texts_of(options: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    """Options as texts, as Spark writes them."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
