"""Which range a check of data is about: the one that is given, what the asset wrote, or all of the stream."""

from dagster import AssetCheckExecutionContext, AssetKey

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.measures import RANGES_KEY, RUN_EVENTS_KEY
from dagster_pravega.metadata.ranges import latest_materialization
from dagster_pravega.metadata.spec import CUTS_KEY, plain
from dagster_pravega.metadata.written import WRITE_ID_KEY


def checked_range(context: AssetCheckExecutionContext, key: AssetKey, given: StreamCutRange | None) -> StreamCutRange:
    """The range: `given`, or the cuts of the asset's latest materialization; the whole stream if it has none.

    Raises:
        ConfigurationError: the latest materialization wrote or read something, but not one range that is known.
    """
    if given is not None:
        return given
    latest = latest_materialization(context.instance, key, None)
    if latest is None:
        return StreamCutRange(UNBOUNDED, UNBOUNDED)
    if CUTS_KEY in latest.metadata:
        return StreamCutRange.from_json(plain(latest.metadata[CUTS_KEY]))
    if {RANGES_KEY, RUN_EVENTS_KEY, WRITE_ID_KEY} & latest.metadata.keys():
        raise ConfigurationError(
            f"the latest materialization of {key.to_user_string()} does not say one range ({CUTS_KEY}), so that it is "
            "not known what to check: give the check the range (cuts)"
        )
    return StreamCutRange(UNBOUNDED, UNBOUNDED)
