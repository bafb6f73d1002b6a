"""Work that a job hands over to a process elsewhere: ranges to read, a write to make, and how to reach the cluster.

It is handed over as JSON, which schedulers log and keep, so that no secret is in it: passwords and tokens are in the
environment of the process. How the JSON gets to the process, and how it reports, is the business of the scheduler.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self

from pydantic import SecretStr

from aiopravega.config import ENVIRONMENT_PREFIX, PravegaConfig
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName

# Of the JSON, so that another release refuses what it would not understand.
LAYOUT: Final = 1
_OPTION_PREFIX: Final = f"{ENVIRONMENT_PREFIX}OPTION_"
_SECRET_ENDS: Final = ("password", "token")
Times = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class HandedPiece:
    """A range that is read as one: its cuts, its bytes with event headers, and which event times are wanted."""

    cuts: StreamCutRange
    size: int
    times: Times | None = None

    def to_json(self) -> dict[str, Any]:
        """The range as JSON."""
        times = None if self.times is None else [time.isoformat() for time in self.times]
        return {**self.cuts.to_json(), "bytes": self.size, "times": times}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The range that was handed over."""
        times = given["times"] and tuple(datetime.fromisoformat(time) for time in given["times"])
        cuts = StreamCutRange.from_json({name: given[name] for name in ("start", "end")})
        return cls(cuts, given["bytes"], times)


@dataclass(frozen=True, slots=True)
class HandedInput:
    """The ranges of a stream that the process reads, with more options of Spark's data source."""

    stream: StreamName
    pieces: tuple[HandedPiece, ...]
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The ranges as JSON; of an option that is a secret, the name only."""
        plain, secrets = _divided(self.options)
        pieces = [piece.to_json() for piece in self.pieces]
        return {"stream": str(self.stream), "ranges": pieces, "options": plain, "secret_options": sorted(secrets)}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The ranges that were handed over.

        Raises:
            ConfigurationError: the environment lacks an option that is a secret.
        """
        return cls(StreamName.parse(given["stream"]), tuple(map(HandedPiece.from_json, given["ranges"])), _whole(given))


@dataclass(frozen=True, slots=True)
class HandedOutput:
    """A write that the process makes once: the stream, and the id and the generation of the write.

    `retried` says whether it is a further try of the same run, which may find the write done by the earlier one.
    """

    stream: StreamName
    write_id: str
    generation: int = 1
    retried: bool = False
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The write as JSON; of an option that is a secret, the name only."""
        plain, secrets = _divided(self.options)
        return {
            "stream": str(self.stream),
            "write_id": self.write_id,
            "generation": self.generation,
            "retried": self.retried,
            "options": plain,
            "secret_options": sorted(secrets),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The write that was handed over.

        Raises:
            ConfigurationError: the environment lacks an option that is a secret.
        """
        stream = StreamName.parse(given["stream"])
        return cls(stream, given["write_id"], given["generation"], given["retried"], _whole(given))


@dataclass(frozen=True, slots=True)
class Handover:
    """All that a process does for a job; `connection` has the fields of `PravegaConfig` that are not secrets."""

    connection: Mapping[str, Any]
    inputs: Mapping[str, HandedInput] = field(default_factory=dict)
    output: HandedOutput | None = None

    def to_json(self) -> dict[str, Any]:
        """The work as JSON, without secrets."""
        return {
            "layout": LAYOUT,
            "connection": dict(self.connection),
            "inputs": {name: each.to_json() for name, each in self.inputs.items()},
            "output": None if self.output is None else self.output.to_json(),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The work that was handed over.

        Raises:
            ConfigurationError: another release has handed it over, or the environment lacks a secret.
        """
        if given.get("layout") != LAYOUT:
            raise ConfigurationError(
                f"the work was handed over in layout {given.get('layout')!r}, and not in {LAYOUT}: install the same "
                "release of aiopravega here and where the scheduler is"
            )
        inputs = {name: HandedInput.from_json(each) for name, each in given["inputs"].items()}
        output = given["output"] and HandedOutput.from_json(given["output"])
        return cls(given["connection"], inputs, output)

    def config(self, **changes: Any) -> PravegaConfig:
        """How the process reaches the cluster; secrets come from its environment.

        Args:
            changes: fields that differ where the process runs, such as `ca_file`.

        Raises:
            ConfigurationError: it cannot work, such as a user name without `PRAVEGA_PASSWORD` in the environment.
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
    """The variables of the process's environment that have the secrets of a connection and of options: never log it."""
    found = {name: getattr(config, name) for name in type(config).model_fields}
    secrets = {
        f"{ENVIRONMENT_PREFIX}{name.upper()}": value.get_secret_value()
        for name, value in found.items()
        if isinstance(value, SecretStr)
    }
    for each in options:
        secrets |= {_variable(name): value for name, value in _divided(each)[1].items()}
    return secrets


def _divided(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Options that may be logged, and those that may not."""
    secrets = {name: value for name, value in options.items() if name.lower().endswith(_SECRET_ENDS)}
    return {name: value for name, value in options.items() if name not in secrets}, secrets


def _whole(given: Mapping[str, Any]) -> dict[str, str]:
    """The options that were handed over, with those that are in the environment."""
    missing = [_variable(name) for name in given["secret_options"] if _variable(name) not in os.environ]
    if missing:
        raise ConfigurationError(
            f"the environment of this process lacks {', '.join(missing)}: options that are secrets are handed over by "
            "the environment only"
        )
    return {**given["options"], **{name: os.environ[_variable(name)] for name in given["secret_options"]}}


def _variable(option: str) -> str:
    return f"{_OPTION_PREFIX}{option.upper()}"
