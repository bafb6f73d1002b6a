"""The streams that Debezium Server needs, made before it starts: its sink makes none, and ends without one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from aiopravega.client import PravegaClient
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.server.settings import check_settings
from pravega_jobs.debezium.server.streams import SCOPE, TABLES, check_names, streams_written


@dataclass(frozen=True, slots=True)
class MadeStreams:
    """The streams of some settings, by name: those that were made now, and those that were there."""

    scope: str
    made: tuple[str, ...]
    there: tuple[str, ...]

    def to_json(self) -> dict[str, str | list[str]]:
        """The same as plain JSON."""
        return {"scope": self.scope, "made": list(self.made), "there": list(self.there)}


def needed_streams(settings: Mapping[str, str], tables: Sequence[str] | None = None) -> tuple[str, tuple[str, ...]]:
    """The scope and the names of all streams that settings lead to. Nothing is asked.

    Args:
        settings: as `read_properties` gives them.
        tables: as `schema.table`, instead of those that the settings name; needed if these are patterns, or missing.

    Raises:
        ConfigurationError: the settings are not for Pravega's sink, name no scope, not all streams are known, or
            Pravega refuses a name.
    """
    check_settings(settings)
    scope = settings.get(SCOPE, "").strip()
    if not scope:
        raise ConfigurationError(f"{SCOPE} is not given, so that it is not known where the streams are to be")
    if isinstance(tables, str):
        raise ConfigurationError(f"tables is {tables!r}, but must be a list such as ['public.orders']")
    named = settings if tables is None else {**settings, TABLES: ",".join(tables)}
    streams = streams_written(named)
    if streams.not_known is not None:
        raise ConfigurationError(
            f"not all streams of Debezium are known, so that none is made: {streams.not_known}. Name the tables "
            "(tables=['public.orders', …]), or make the streams by their names"
        )
    refused = check_names(streams)
    if refused:
        raise ConfigurationError("; ".join(f"{each.why}. Set {each.instead}" for each in refused))
    return scope, streams.names


async def make_streams(
    client: PravegaClient,
    settings: Mapping[str, str],
    *,
    tables: Sequence[str] | None = None,
    scaling: ScalingPolicy | None = None,
    retention: RetentionPolicy | None = None,
    tags: Collection[str] = (),
) -> MadeStreams:
    """Make the streams of all tables, and of transactions, DDL and heartbeats, that are not there; and their scope.

    Streams that are there keep their configuration.

    Args:
        client: a connected client of the cluster that Debezium is to write to.
        settings: as `read_properties` gives them.
        tables: as for `needed_streams`.
        scaling: how many segments a new stream has; by default one. Only one segment keeps truncates, and changes of
            tables without a key, in their order.
        retention: how long the data of a new stream stays; by default forever.
        tags: of new streams.

    Raises:
        ConfigurationError: as `needed_streams`; nothing is made then.
        PravegaError: the cluster cannot be asked.
    """
    scope, names = needed_streams(settings, tables)
    await client.create_scope(scope)
    made = [name for name in names if await client.create_stream(f"{scope}/{name}", scaling, retention, tags)]
    return MadeStreams(scope, tuple(made), tuple(name for name in names if name not in made))
