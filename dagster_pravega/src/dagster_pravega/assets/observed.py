"""Streams as observable assets: an observation reads no event, and its data version changes with each write."""

import asyncio
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

from aiopravega import PravegaClient, StreamCut, StreamCutRange, StreamName
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import cut_version, update_of, updated_at
from dagster_pravega.metadata.spec import CUTS_KEY, STREAM_KEY, plain, pravega_stream_spec, stream_of
from dagster_pravega.resources.resource import PravegaResource

# Differs from the metadata of writes: Dagster would plot both as one line.
_READABLE_KEY: Final = "pravega/readable_bytes"


def observe_pravega_stream(
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
    def observe(context: AssetExecutionContext) -> ObserveResult:
        resource: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            cuts = StreamCutRange(resource.head(str(of)), resource.tail(str(of)))
            size = resource.client.distance(cuts.start, cuts.end)
            changed = resource.client.run(_changed_at(resource.client.asynchronous, cuts.end))
        metadata: dict[str, Any] = {STREAM_KEY: str(of), CUTS_KEY: cuts.to_json(), _READABLE_KEY: size}
        metadata |= updated_at(_not_before(context.instance, spec.key, cuts, changed))
        return ObserveResult(asset_key=spec.key, data_version=cut_version(cuts.end), metadata=metadata)

    observed: AssetsDefinition = observe
    return observed


async def _changed_at(client: PravegaClient, tail: StreamCut) -> datetime:
    """The time of the last change of a stream by its servers, which note it from time to time."""
    return max(await asyncio.gather(*(client.store.changed_at(segment, str(segment)) for segment in tail.positions)))


def _not_before(instance: DagsterInstance, key: AssetKey, cuts: StreamCutRange, changed: datetime) -> datetime:
    """The last change by the servers, or a later time that follows from the last observation.

    A tail that has moved since has been written since. The time of one that stands does not go back.
    """
    last = instance.fetch_observations(key, limit=1).records
    seen = last[0].asset_observation if last else None
    if seen is None:
        return changed
    stands = plain(seen.metadata.get(CUTS_KEY, {})).get("end") == cuts.to_json()["end"]
    known = update_of(seen.metadata) if stands else datetime.fromtimestamp(last[0].timestamp, UTC)
    return changed if known is None else max(changed, known)
