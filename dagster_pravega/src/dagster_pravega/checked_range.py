"""The range of a check of data: the given one, the one that the asset wrote, or all of the stream."""

from dagster import AssetCheckExecutionContext, AssetKey

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError
from dagster_pravega.measures import RANGES_KEY, RUN_EVENTS_KEY
from dagster_pravega.ranges import latest_materialization
from dagster_pravega.spec import CUTS_KEY, plain
from dagster_pravega.written import WRITE_ID_KEY


def checked_range(context: AssetCheckExecutionContext, key: AssetKey, given: StreamCutRange | None) -> StreamCutRange:
    """The range to check: `given`, or the cuts of the asset's latest materialization; without one, all of the stream.

    Raises:
        ConfigurationError: the latest materialization read or wrote events, but does not have exactly one range.
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
            f"the latest materialization of {key.to_user_string()} does not have one range ({CUTS_KEY}): give the "
            "check the range (cuts)"
        )
    return StreamCutRange(UNBOUNDED, UNBOUNDED)
