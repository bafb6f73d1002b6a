"""A check of the number of events in a range of a stream."""

from typing import Any, Final

from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, AssetCheckSeverity, asset_check

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking.intervals import count_events
from aiopravega.errors import ConfigurationError
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import EVENTS_KEY
from dagster_pravega.metadata.ranges import checked_range
from dagster_pravega.metadata.spec import CUTS_KEY, STREAM_KEY, AssetLike
from dagster_pravega.resources.resource import PravegaResource

_NO_LIMIT: Final = 2**63 - 1


def build_row_count_check(
    asset: AssetLike,
    *,
    stream: str,
    min_rows: int | None = None,
    max_rows: int | None = None,
    cuts: StreamCutRange | None = None,
    severity: AssetCheckSeverity = AssetCheckSeverity.ERROR,
    name: str = "row_count",
    blocking: bool = False,
    resource_key: str = "pravega",
) -> AssetChecksDefinition:
    """A check of the number of events in a range. Events are read to be counted, up to one more than the limit.

    Its metadata are the range, and `pravega/events`: the number, or the text `at least N` if counting stopped earlier.

    Args:
        asset: the asset to check.
        stream: `scope/stream`.
        min_rows: the fewest events that pass.
        max_rows: the most events that pass.
        cuts: the range; by default the range that this run, or the run that it repeats, wrote or read of the asset
            (`pravega/cuts`), of its partition; if it did neither, the range of the latest materialization of the
            partition; for an asset without partitions that has none, all of the stream.
        severity: of a failure.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        resource_key: of the `PravegaResource`.

    Raises:
        ConfigurationError: the stream is not `scope/stream`, there is no limit, or no number is within the limits.
    """
    of, key = StreamName.parse(stream), checked_key(asset)
    least, most = min_rows or 0, _NO_LIMIT if max_rows is None else max_rows
    if min_rows in (None, 0) and max_rows is None:
        raise ConfigurationError(
            f"the check {name!r} of the rows of {of} has no limit, so that it would always pass: give min_rows or "
            "max_rows"
        )
    if not 0 <= least <= most:
        raise ConfigurationError(f"min_rows is {min_rows} and max_rows {max_rows}: no number of rows is within them")
    count_to = least if max_rows is None else most + 1

    @asset_check(
        asset=key,
        name=name,
        blocking=blocking,
        description=f"How many events has the range of {of}?",
        required_resource_keys={resource_key},
    )
    def row_count(context: AssetCheckExecutionContext) -> AssetCheckResult:
        pravega: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            client = pravega.client
            wanted = client.resolve(checked_range(context, key, cuts), of)
            events = count_events(client, wanted, count_to)
        text = f"at least {events:,}" if events == count_to else f"{events:,}"
        shown: Any = text if events == count_to else events
        return AssetCheckResult(
            passed=least <= events <= most,
            severity=severity,
            description=f"{text} events; {_limits(min_rows, max_rows)}",
            metadata={STREAM_KEY: str(of), CUTS_KEY: wanted.to_json(), EVENTS_KEY: shown},
        )

    return row_count


def _limits(least: int | None, most: int | None) -> str:
    said = [f"{word} {limit:,}" for word, limit in (("at least", least), ("at most", most)) if limit is not None]
    return f"{' and '.join(said)} pass"
