"""Streams that one sensor observes, one of them with a policy of freshness, and an asset that follows it."""

from datetime import timedelta

import dagster as dg

from dagster_pravega import PravegaResource, build_observation_sensor, pravega_stream_spec

SCOPE = "dagster-many"
MANY = 500
POLICY = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=1))

specs = [
    pravega_stream_spec(f"{SCOPE}/stream-{number}", key=f"stream_{number}", freshness_policy=POLICY)
    for number in range(MANY)
]


@dg.asset(deps=["stream_7"], automation_condition=dg.AutomationCondition.eager())
def follower() -> None:
    """Runs when its stream has new events."""


defs = dg.Definitions(
    assets=[*specs, follower],
    sensors=[build_observation_sensor("observation", streams=specs, minimum_interval_seconds=5)],
    resources={"pravega": PravegaResource()},
    executor=dg.in_process_executor,
)
