"""Streams as assets: the spec of a stream that is written outside Dagster, and the stream that an asset represents."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypedDict

from dagster import AssetKey, AssetsDefinition, AssetSpec

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from pravega_jobs.spark.options import is_secret_option

# An asset, or its key, in the forms that users write.
AssetLike: TypeAlias = AssetKey | str | Sequence[str] | AssetsDefinition | AssetSpec
KIND: Final = "pravega"
STREAM_KEY: Final = "pravega/stream"
CUTS_KEY: Final = "pravega/cuts"
OPTIONS_KEY: Final = "pravega/options"
SINCE_KEY: Final = "pravega/since"
_SCOPE_AND_STREAM: Final = 2  # parts of a key
_URI_KEY: Final = "dagster/uri"  # Dagster shows it as the address of an asset
TABLE_NAME_KEY: Final = "dagster/table_name"
_STORAGE_KEY: Final = "dagster/storage_kind"


def pravega_stream_spec(
    stream: str,
    *,
    key: AssetKey | Sequence[str] | str | None = None,
    group_name: str | None = None,
    description: str | None = None,
    tags: Mapping[str, str] | None = None,
    owners: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **attributes: Any,
) -> AssetSpec:
    """A stream that is written outside Dagster, as an external asset.

    Assets read it by `AssetIn(input_manager_key=…)` with a `PravegaSparkIOManager`.

    Args:
        stream: `scope/stream`.
        key: key of the asset; by default scope and stream.
        group_name: group of the asset.
        description: of the asset: the contents of the stream.
        tags: tags of the asset.
        owners: owners of the asset.
        options: `StreamOptions`, or a mapping of the same names: options of its readers, such as `decode`.
            With `event_time`, the column that has the events' times, assets with partitions of time read the times of
            their partition. Secrets are refused: Dagster shows the options.
        metadata: more metadata. `pravega/cuts`, as `{"start": text, "end": text}`, bounds what assets read.
        **attributes: other arguments of `AssetSpec`, such as `automation_condition`, `freshness_policy`, `deps`,
            `code_version`, `partitions_def`; `kinds` are added to the stream's own.

    Raises:
        ConfigurationError: the name is not `scope/stream`, or an option is a secret.
    """
    name = StreamName.parse(stream)
    return AssetSpec(
        key=key or [name.scope, name.stream],
        group_name=group_name,
        description=description or f"Pravega stream {name}",
        tags=tags,
        owners=owners,
        kinds={KIND, *attributes.pop("kinds", ())},
        metadata=_metadata_of(name, options, metadata),
        **attributes,
    )


class OutputArguments(TypedDict):
    """Arguments of `dagster.asset` for an asset that is written to a stream."""

    kinds: set[str]
    metadata: dict[str, Any]
    io_manager_key: str


def pravega_output(
    stream: str,
    *,
    options: Mapping[str, Any] | None = None,
    kinds: Collection[str] = (),
    metadata: Mapping[str, Any] | None = None,
    io_manager_key: str = "pravega_spark",
) -> OutputArguments:
    """Arguments of `dagster.asset` for an asset that is written to a stream.

    Use them as `@dg.asset(**pravega_output("shop/sums"))`. They are the kind `pravega`, the metadata that name the
    stream, and the IO manager.

    Args:
        stream: `scope/stream`.
        options: `OutputOptions`, `StreamOptions` for readers, or a mapping of the same names, such as `encode`. Secrets
            are refused: Dagster shows the options.
        kinds: more kinds of the asset.
        metadata: more metadata.
        io_manager_key: of the `PravegaSparkIOManager` or `PravegaArrowIOManager`.

    Raises:
        ConfigurationError: the name is not `scope/stream`, or an option is a secret.
    """
    return {
        "kinds": {KIND, *kinds},
        "metadata": _metadata_of(StreamName.parse(stream), options, metadata),
        "io_manager_key": io_manager_key,
    }


def _metadata_of(
    name: StreamName, options: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None
) -> dict[str, Any]:
    refuse_secrets(options or {})
    return {
        **(metadata or {}),
        **({OPTIONS_KEY: dict(options)} if options else {}),
        STREAM_KEY: str(name),
        _URI_KEY: f"pravega://{name}",
        **table_metadata(name),
    }


def table_metadata(stream: StreamName) -> dict[str, str]:
    """Metadata by which Dagster's catalog names a stream."""
    return {TABLE_NAME_KEY: f"{stream.scope}.{stream.stream}", _STORAGE_KEY: KIND}


def asset_key_of(asset: AssetLike) -> AssetKey:
    """The key of an asset that is given in one of several forms."""
    if isinstance(asset, AssetsDefinition | AssetSpec):
        return asset.key
    return AssetKey.from_coercible(asset)


def stream_of(key: AssetKey, metadata: Mapping[str, Any]) -> str:
    """The stream that an asset represents: its metadata `pravega/stream`, or its key as scope and stream.

    A key of one part is a stream of the resource's default scope.

    Raises:
        ConfigurationError: there is no such metadata, and the key has more than two parts.
    """
    if STREAM_KEY in metadata:
        return str(plain(metadata[STREAM_KEY]))
    if len(key.path) > _SCOPE_AND_STREAM:
        raise ConfigurationError(
            f"asset {key.to_user_string()} does not name its stream: give it the metadata {STREAM_KEY!r} with "
            "scope/stream"
        )
    return "/".join(key.path)


def options_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Options of Spark's data source in the metadata `pravega/options` of a stream, an input or an output.

    Raises:
        ConfigurationError: the metadata are not names with values.
    """
    given: Any = plain(metadata.get(OPTIONS_KEY, {}))
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"the metadata {OPTIONS_KEY!r} is {given!r}, but must be options with their values")
    return {str(name).lower(): str(value) for name, value in given.items()}


def refuse_secrets(options: Mapping[str, Any]) -> None:
    """Check that options may be among metadata, which Dagster keeps and shows.

    Raises:
        ConfigurationError: an option is a secret.
    """
    secret = next((name for name in options if is_secret_option(name)), None)
    if secret is not None:
        raise ConfigurationError(
            f"option {secret!r} would be kept in Dagster's database, and shown on its pages: leave it out, and set "
            "PRAVEGA_PASSWORD or PRAVEGA_TOKEN where the code runs"
        )


def plain(value: Any) -> Any:
    """The value of a metadata entry, without Dagster's wrapper if it has one."""
    return getattr(value, "value", value)
