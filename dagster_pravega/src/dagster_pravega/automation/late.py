"""The condition of late events, and the runs that read them: each with the claim that has them.

A run of a partition reads its first claim, unless a tag says another one. So a partition for which this condition is
true gets a run of its own, the same that the sensor of late events requests.
"""

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import dagster as dg
from dagster._core.asset_graph_view.entity_subset import EntitySubset
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster._record import copy

from aiopravega import PravegaClient, PravegaConfig
from aiopravega.errors import ConfigurationError
from dagster_pravega.automation.questions import TickQuestions
from dagster_pravega.automation.stream_condition import StreamCondition
from dagster_pravega.automation.watched import Given, Watched
from dagster_pravega.sensors.late_runs import SearchedAsset

if TYPE_CHECKING:
    from pravega_jobs.late import LateEvents

_PARTITION_TAG: Final = "dagster/partition"
# The runs of partitions with late events, by each asset and partition that they make.
LateRuns: TypeAlias = dict[AssetKeyPartitionKey, dg.RunRequest]
_runs_of_tick: Final[ContextVar[LateRuns | None]] = ContextVar("runs of partitions with late events", default=None)


class LateEventsFound(StreamCondition):
    """True for partitions with so many late events, by the searches, whose newest claim is done."""

    def __init__(self, text: str, given: Given, least: int) -> None:
        super().__init__(text, given)
        self._least = least

    async def true_subset(
        self, context: dg.AutomationContext[dg.AssetKey], config: PravegaConfig, watched: Watched
    ) -> EntitySubset[dg.AssetKey]:
        """The candidates with enough late events; the sensor gets their runs.

        Raises:
            ConfigurationError: another sensor evaluates the condition, or the asset has no partitions of time.
        """
        from pravega_jobs.late import LatePolicy, OnLate, known_late_events

        runs = _runs_of_tick.get()
        if runs is None:
            raise ConfigurationError(
                f"{self.name} of {context.key.to_user_string()} is evaluated by another sensor than one of "
                "build_automation_sensor, whose runs would not read the late events: have that one select the asset"
            )
        searched = SearchedAsset.of(context.asset_graph.get(context.key).assets_def, watched.consumer)

        async def ask(client: PravegaClient) -> "LateEvents":
            return await known_late_events(client, watched.stream, watched.consumer)

        found = await TickQuestions.of(context).ask(config, ("late", watched.stream, watched.consumer), ask)
        true = set()
        for each in LatePolicy(OnLate.COLLECT, after_events=self._least).due(found, datetime.now(UTC)):
            key = searched.key_of(each.since, each.until)
            if key is None:
                self.log(context, logging.WARNING, searched.no_partition(each.interval))
                continue
            true.add(key)
            request = searched.request(context.asset_graph_view.instance, found.stream, key, each)
            request = request.with_replaced_attrs(asset_selection=list(searched.keys))
            runs |= {AssetKeyPartitionKey(asset, key): request for asset in searched.keys}
        return context.candidate_subset.compute_intersection_with_partition_keys(true)


class PravegaAutomationSensor(dg.AutomationConditionSensorDefinition):
    """Dagster's sensor of automation conditions; a partition with late events gets a run of its own, with its claim.

    `build_automation_sensor` makes it.
    """

    def with_attributes(self, **changes: Any) -> "PravegaAutomationSensor":
        """Dagster's copy of the sensor, as a sensor of this kind: Dagster's own would lose the runs of late events."""
        made = super().with_attributes(**changes)
        return PravegaAutomationSensor(
            made.name,
            target=made.asset_selection,
            tags=made.tags,
            run_tags=made.run_tags,
            default_status=made.default_status,
            minimum_interval_seconds=made.minimum_interval_seconds,
            description=made.description,
            metadata=made.metadata,
            emit_backfills=made.emit_backfills,
            use_user_code_server=True,
            default_condition=made.default_condition,
        )

    def evaluate_tick(self, context: dg.SensorEvaluationContext) -> SensorExecutionData:
        """Evaluate the conditions; called by Dagster."""
        runs: LateRuns = {}
        token = _runs_of_tick.set(runs)
        try:
            found = super().evaluate_tick(context)
        finally:
            _runs_of_tick.reset(token)
        if not runs or not found.run_requests:
            return found
        requests, late = [], {}
        for request in found.run_requests:
            wanted = [each for each in _made_by(request) if each in runs]
            late.update({runs[each].run_key: runs[each] for each in wanted})
            rest = _without(request, wanted, context) if wanted else request
            requests += [] if rest is None else [rest]
        # Of requests of such sensors Dagster starts the run by their tags alone, so the partition is among them.
        tagged = [
            each.with_replaced_attrs(tags={**self.run_tags, **each.tags, _PARTITION_TAG: each.partition_key})
            for each in late.values()
        ]
        return copy(found, run_requests=[*requests, *tagged])


def _made_by(request: dg.RunRequest) -> Sequence[AssetKeyPartitionKey]:
    if request.asset_graph_subset is not None:
        return list(request.asset_graph_subset.iterate_asset_partitions())
    return [AssetKeyPartitionKey(key, request.partition_key) for key in request.asset_selection or ()]


def _without(
    request: dg.RunRequest, late: Sequence[AssetKeyPartitionKey], context: dg.SensorEvaluationContext
) -> dg.RunRequest | None:
    """The request without some assets and partitions; None: nothing is left."""
    if request.asset_graph_subset is not None:
        assert context.repository_def is not None, "Dagster evaluates conditions of a repository"
        graph = context.repository_def.asset_graph
        left = request.asset_graph_subset - AssetGraphSubset.from_asset_partition_set(set(late), graph)
        return None if left.is_empty else dg.RunRequest.for_asset_graph_subset(left, tags=request.tags)
    gone = {each.asset_key for each in late}
    keys = [key for key in request.asset_selection or () if key not in gone]
    checks = [check for check in request.asset_check_keys or () if check.asset_key not in gone]
    if not keys:
        return None
    return request.with_replaced_attrs(
        asset_selection=keys, asset_check_keys=None if request.asset_check_keys is None else checks
    )
