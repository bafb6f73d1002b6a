"""The typed configuration of an input that reads a stream: which part of it, by whom, and how events become columns.

Dagster keeps the configuration of inputs as metadata. The keys are here and in the readers of the metadata, and nobody
has to write them.
"""

from collections.abc import Mapping
from typing import Any, Final

from dagster import AssetIn, PartitionMapping
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.intervals.chain.losses import OnTruncated
from aiopravega.intervals.chain.next_range import SINCE
from aiopravega.positions import parse_position
from dagster_pravega.metadata.columns import COLUMNS_KEY, DECODED_KEY
from dagster_pravega.metadata.measures import CONSUMER_KEY
from dagster_pravega.metadata.spec import CUTS_KEY, OPTIONS_KEY, SINCE_KEY, AssetLike, asset_key_of, refuse_secrets

ON_TRUNCATED_KEY: Final = "pravega/on_truncated"
_UNBOUNDED: Final = "unbounded"


class StreamInput(BaseModel):
    """The configuration of an input that reads a stream: `ins={"visits": StreamInput(since="last").asset_in(visits)}`.

    Each field is checked where it is written. `metadata()` gives the same for `In` of an op, and for `AssetIn` with
    other arguments.

    Raises:
        ConfigurationError: a value cannot work, or there is no such field; the message has no values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    since: str | None = Field(
        default=None,
        description="the input continues where the last run ended: the first run starts at the head with last, at the "
        "tail with latest; by default it does not continue",
    )
    start: str | None = Field(
        default=None, description="what all runs read, from here: a text of a cut, earliest, latest or unbounded"
    )
    end: str | None = Field(default=None, description="what all runs read, up to here; as start")
    consumer: str | None = Field(
        default=None, min_length=1, description="name in the cut ledger; by default that of the asset"
    )
    on_truncated: OnTruncated = Field(
        default=OnTruncated.FAIL, description="if a part of a recorded range is gone: fail, or skip it"
    )
    columns: tuple[str, ...] = Field(default=(), description="the columns that are read; by default all")
    json_columns: str | None = Field(
        default=None, min_length=1, description="the columns of JSON events as SQL writes them: id long, price double"
    )
    options: Mapping[str, str | int | float | bool] = Field(
        default={},
        description="StreamOptions, or a mapping of the same names, beside those of the stream",
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, problem['loc'])) or 'the input'}: {problem['msg']}"
                for problem in error.errors(include_input=False, include_url=False)
            )
            fields = ", ".join(type(self).model_fields)
            raise ConfigurationError(
                f"the configuration of the input of a stream cannot work: {problems}. Its fields are {fields}"
            ) from None

    @field_validator("since")
    @classmethod
    def _check_since(cls, since: str | None) -> str | None:
        if since is not None and since not in SINCE:
            raise ValueError(f"must be one of {', '.join(SINCE)}")
        return since

    @field_validator("start", "end")
    @classmethod
    def _check_position(cls, text: str | None) -> str | None:
        try:
            if text is not None and text != _UNBOUNDED:
                parse_position(text, None)
        except PravegaError as error:
            raise ValueError(str(error)) from None
        return text

    @field_validator("options")
    @classmethod
    def _check_options(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            refuse_secrets(options)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None
        return options

    @model_validator(mode="after")
    def _check_together(self) -> "StreamInput":
        if self.since is not None and (self.start is not None or self.end is not None):
            raise ValueError("since continues where the last run ended, and start and end are the same for all runs")
        return self

    def metadata(self) -> dict[str, Any]:
        """The metadata of an input with this configuration."""
        bounded = self.start is not None or self.end is not None
        cuts = {"start": self.start or _UNBOUNDED, "end": self.end or _UNBOUNDED}
        return {
            **({} if self.since is None else {SINCE_KEY: self.since}),
            **({CUTS_KEY: cuts} if bounded else {}),
            **({} if self.consumer is None else {CONSUMER_KEY: self.consumer}),
            **({} if self.on_truncated is OnTruncated.FAIL else {ON_TRUNCATED_KEY: self.on_truncated.value}),
            **({COLUMNS_KEY: list(self.columns)} if self.columns else {}),
            **({} if self.json_columns is None else {DECODED_KEY: self.json_columns}),
            **({OPTIONS_KEY: {name: _text(value) for name, value in self.options.items()}} if self.options else {}),
        }

    def asset_in(
        self,
        stream: AssetLike,
        *,
        input_manager_key: str = "pravega_spark",
        partition_mapping: PartitionMapping | None = None,
    ) -> AssetIn:
        """The input of an asset: a value of `ins`.

        Args:
            stream: the asset of the stream, or its key.
            input_manager_key: of the `PravegaSparkIOManager` or `PravegaArrowIOManager` that reads it.
            partition_mapping: between the partitions of the stream and the asset.
        """
        return AssetIn(
            key=asset_key_of(stream),
            input_manager_key=input_manager_key,
            metadata=self.metadata(),
            partition_mapping=partition_mapping,
        )


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
