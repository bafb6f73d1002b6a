"""Streams as observable assets: an observation reads no event, and its data version changes with each write."""

import re
from typing import Any, Final

from dagster import (
    AssetExecutionContext,
    AssetsDefinition,
    AssetSpec,
    AutomationCondition,
    ObserveResult,
    multi_observable_source_asset,
)

from aiopravega import StreamCutRange, StreamName
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import cut_version
from dagster_pravega.metadata.spec import CUTS_KEY, STREAM_KEY, pravega_stream_spec, stream_of
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
    and tail and reads no event. Its metadata are these two cuts, and the bytes between them.

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
        return ObserveResult(
            asset_key=spec.key,
            data_version=cut_version(cuts.end),
            metadata={STREAM_KEY: str(of), CUTS_KEY: cuts.to_json(), _READABLE_KEY: size},
        )

    observed: AssetsDefinition = observe
    return observed
