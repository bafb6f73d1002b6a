"""Streams as observable assets: an observation reads no event, and its data version changes with each write."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from dagster import (
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    AutomationCondition,
    DagsterInstance,
    ObserveResult,
    multi_observable_source_asset,
)

from aiopravega import StreamCut, StreamName
from aiopravega.intervals.reports.stream_state import StreamState, observe
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import cut_version, observed_metadata, update_of
from dagster_pravega.metadata.spec import CUTS_KEY, plain, pravega_stream_spec, stream_of
from dagster_pravega.resources.resource import PravegaResource

# An observation of an earlier release may not say when the stream was written.
_LONG_AGO: Final = datetime.fromtimestamp(0, UTC)


def build_observed_stream(
    stream: str | AssetSpec,
    *,
    automation_condition: AutomationCondition[Any] | None = None,
    resource_key: str = "pravega",
    name: str | None = None,
) -> AssetsDefinition:
    """A stream that is written outside Dagster, as an asset that can be observed.

    Its data version is the tail. Two observations without a write between them have the same version, so that
    `AutomationCondition.eager()` and checks of versions start runs only for new events. An observation requests head
    and tail and reads no event. Its metadata are these two cuts, the bytes between them, and the time of the last write
    (`dagster/last_updated_timestamp`), which is exact to the time between two observations.

    Args:
        stream: `scope/stream`, or a spec of `pravega_stream_spec`, whose options and metadata readers keep.
        automation_condition: of the observations, such as `AutomationCondition.on_cron("* * * * *")`.
        resource_key: of the `PravegaResource`.
        name: of the op; by default it is made of the asset's key.

    Raises:
        ConfigurationError: the spec does not name a stream.
    """
    spec = pravega_stream_spec(stream) if isinstance(stream, str) else stream
    of = StreamName.parse(stream_of(spec.key, spec.metadata))
    if automation_condition is not None:
        spec = spec.replace_attributes(automation_condition=automation_condition)

    @multi_observable_source_asset(  # type: ignore[untyped-decorator]  # Dagster gives it no types
        specs=[spec],
        name=name or "observe_" + re.sub(r"\W", "_", "_".join(spec.key.path), flags=re.ASCII),
        required_resource_keys={resource_key},
    )
    def observe_stream(context: AssetExecutionContext) -> ObserveResult:
        resource: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            seen = resource.client.run(observe(resource.client.asynchronous, of, _last(context.instance, spec.key, of)))
        return ObserveResult(
            asset_key=spec.key, data_version=cut_version(seen.state.tail), metadata=observed_metadata(seen)
        )

    observed: AssetsDefinition = observe_stream
    return observed


def _last(instance: DagsterInstance, key: AssetKey, stream: StreamName) -> StreamState | None:
    """The state of the stream in its last observation."""
    records = instance.fetch_observations(key, limit=1).records
    seen = records[0].asset_observation if records else None
    cuts = {} if seen is None else plain(seen.metadata.get(CUTS_KEY, {}))
    tail = StreamCut.from_text(cuts["end"]) if "end" in cuts else None
    if seen is None or tail is None or tail.stream != stream:
        return None
    at = datetime.fromtimestamp(records[0].timestamp, UTC)
    return StreamState(tail, False, at, update_of(seen.metadata) or _LONG_AGO)
