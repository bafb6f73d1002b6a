"""Orders of work for a process elsewhere: ranges to read, a write to make, and the connection to the cluster.

An order is JSON without secrets, since schedulers log and keep it: passwords and tokens are in the environment of the
process. The scheduler carries the JSON to the process, and receives its report.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self, get_args

from pydantic import SecretStr

from aiopravega.config import ENVIRONMENT_PREFIX, PravegaConfig
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.spark.options import is_secret_option

# Of the JSON, so that another release refuses what it would not understand.
LAYOUT: Final = 2
_OPTION_PREFIX: Final = f"{ENVIRONMENT_PREFIX}OPTION_"
Times = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class RangeOrder:
    """An order to read one range: its cuts, its bytes with event headers, and the event times to take; None: all."""

    cuts: StreamCutRange
    size: int
    times: Times | None = None

    def to_json(self) -> dict[str, Any]:
        """The order as JSON."""
        times = None if self.times is None else [time.isoformat() for time in self.times]
        return {**self.cuts.to_json(), "bytes": self.size, "times": times}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The order that was handed over."""
        times = given["times"] and tuple(datetime.fromisoformat(time) for time in given["times"])
        cuts = StreamCutRange.from_json({name: given[name] for name in ("start", "end")})
        return cls(cuts, given["bytes"], times)


@dataclass(frozen=True, slots=True)
class InputOrder:
    """An order to read ranges of a stream, with more options of Spark's data source."""

    stream: StreamName
    pieces: tuple[RangeOrder, ...]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The order as JSON; of an option that is a secret, the name only."""
        plain, secrets = _divided(self.options)
        pieces = [piece.to_json() for piece in self.pieces]
        return {"stream": str(self.stream), "ranges": pieces, "options": plain, "secret_options": sorted(secrets)}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The order that was handed over.

        Raises:
            ConfigurationError: the environment lacks an option that is a secret.
        """
        return cls(StreamName.parse(given["stream"]), tuple(map(RangeOrder.from_json, given["ranges"])), _whole(given))


@dataclass(frozen=True, slots=True)
class WriteOrder:
    """An order to make a write once: the stream, and the id and the generation of the write.

    `claimant` is the work that writes, as the record will name it: an earlier try with the same one may have done the
    write. None: rows of a write that is done are always compared.
    """

    stream: StreamName
    write_id: str
    generation: int = 1
    claimant: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The order as JSON; of an option that is a secret, the name only."""
        plain, secrets = _divided(self.options)
        return {
            "stream": str(self.stream),
            "write_id": self.write_id,
            "generation": self.generation,
            "claimant": self.claimant,
            "options": plain,
            "secret_options": sorted(secrets),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The order that was handed over.

        Raises:
            ConfigurationError: the environment lacks an option that is a secret.
        """
        stream = StreamName.parse(given["stream"])
        return cls(stream, given["write_id"], given["generation"], given["claimant"], _whole(given))


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """The whole order of a job: inputs by name, and an output.

    `connection` has the fields of `PravegaConfig` that are not secrets.
    """

    connection: Mapping[str, Any]
    inputs: Mapping[str, InputOrder] = field(default_factory=dict)
    output: WriteOrder | None = None

    def to_json(self) -> dict[str, Any]:
        """The order as JSON, without secrets."""
        return {
            "layout": LAYOUT,
            "connection": dict(self.connection),
            "inputs": {name: each.to_json() for name, each in self.inputs.items()},
            "output": None if self.output is None else self.output.to_json(),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The order that was handed over.

        Raises:
            ConfigurationError: another release has handed it over, or the environment lacks a secret.
        """
        if given.get("layout") != LAYOUT:
            raise ConfigurationError(
                f"the work was handed over in layout {given.get('layout')!r}, and not in {LAYOUT}: install the same "
                "release of aiopravega here and where the scheduler is"
            )
        inputs = {name: InputOrder.from_json(each) for name, each in given["inputs"].items()}
        output = given["output"] and WriteOrder.from_json(given["output"])
        return cls(given["connection"], inputs, output)

    def config(self, **changes: Any) -> PravegaConfig:
        """The connection of the process to the cluster; secrets come from the environment.

        Args:
            changes: fields that have other values in the process, such as `ca_file`.

        Raises:
            ConfigurationError: the connection cannot work: a user name without `PRAVEGA_PASSWORD`, for example.
        """
        try:
            return PravegaConfig(**{**self.connection, **changes})
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}. Passwords and tokens are not handed over with the work: the environment of this process has "
                f"to have {ENVIRONMENT_PREFIX}PASSWORD or {ENVIRONMENT_PREFIX}TOKEN"
            ) from None


def connection_without_secrets(config: PravegaConfig) -> dict[str, Any]:
    """The fields of a configuration that may be logged and that are not None."""
    found = {name: getattr(config, name) for name in type(config).model_fields}
    return {name: value for name, value in found.items() if value is not None and not isinstance(value, SecretStr)}


def secrets_environment(config: PravegaConfig, *options: Mapping[str, str]) -> dict[str, str]:
    """The variables of the process's environment with the secrets of a connection and options: never log them."""
    found = {name: getattr(config, name) for name in type(config).model_fields}
    secrets = {
        f"{ENVIRONMENT_PREFIX}{name.upper()}": value.get_secret_value()
        for name, value in found.items()
        if isinstance(value, SecretStr)
    }
    for each in options:
        secrets |= {_variable(name): value for name, value in _divided(each)[1].items()}
    return secrets


def is_secret_variable(name: str) -> bool:
    """True for a variable of a process's environment that can have a secret of a connection, or of an option."""
    if name.startswith(_OPTION_PREFIX):
        return is_secret_option(name.removeprefix(_OPTION_PREFIX).lower())
    field = PravegaConfig.model_fields.get(name.removeprefix(ENVIRONMENT_PREFIX).lower())
    if field is None or not name.startswith(ENVIRONMENT_PREFIX):
        return False
    return SecretStr in (field.annotation, *get_args(field.annotation))


def _divided(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Options that may be logged, and those that may not."""
    secrets = {name: value for name, value in options.items() if is_secret_option(name)}
    return {name: value for name, value in options.items() if name not in secrets}, secrets


def _whole(given: Mapping[str, Any]) -> dict[str, str]:
    """The options of an order, with the secrets from the environment."""
    missing = [_variable(name) for name in given["secret_options"] if _variable(name) not in os.environ]
    if missing:
        raise ConfigurationError(
            f"the environment of this process lacks {', '.join(missing)}: options that are secrets are handed over by "
            "the environment only"
        )
    return {**given["options"], **{name: os.environ[_variable(name)] for name in given["secret_options"]}}


def _variable(option: str) -> str:
    return f"{_OPTION_PREFIX}{option.upper()}"
