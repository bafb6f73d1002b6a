"""The sensor that evaluates conditions of streams: one of Dagster's, in the process that has the user's code."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from dagster_pravega.automation.late import PravegaAutomationSensor


def build_automation_sensor(
    name: str = "pravega_automation",
    *,
    target: Any = None,
    run_tags: Mapping[str, Any] | None = None,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> PravegaAutomationSensor:
    """A sensor that evaluates the automation conditions of assets, also if they have a `PravegaCondition`.

    Dagster's own default sensor evaluates conditions in its daemon, which does not have this package: it leaves assets
    with such conditions out without a word. This one is `dagster.AutomationConditionSensorDefinition` with
    `use_user_code_server=True`. Assets that it selects are not evaluated by the default sensor. It may select up to 500
    assets and checks.

    Args:
        name: of the sensor.
        target: the assets, as Dagster selects them; None: all assets, streams that are observed among them.
        run_tags: tags of the runs.
        minimum_interval_seconds: between two ticks.
        default_status: `RUNNING` starts the sensor when the code location is loaded.
    """
    return PravegaAutomationSensor(
        name,
        target=dg.AssetSelection.all(include_sources=True) if target is None else target,
        run_tags=run_tags,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        use_user_code_server=True,
    )
