"""The other cut sensors of this Dagster: one sensor claims the ranges of a consumer."""

import time
from collections.abc import Mapping
from typing import Final

import dagster as dg

from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CutRecord
from dagster_pravega.metadata.spec import plain
from dagster_pravega.partitions.claimants import deployment_of

_AUTHOR: Final = "dagster sensor "
# A sensor of another code location that has had no tick for so long is gone.
_GONE_SECONDS: Final = 300.0


class OtherSensors:
    """The other sensors of this Dagster: of two that claim ranges for one consumer, each would get a part of them."""

    def __init__(self, context: dg.SensorEvaluationContext, name: str, tags: Mapping[str, str]) -> None:
        self._context, self._name, self._tags = context, name, tags
        self._deployment = deployment_of(context.instance)

    def author(self, name: str) -> str:
        """The author of the records of a sensor with this name."""
        return f"{_AUTHOR}{name}{self._deployment}"

    def check_alone(self, last: CutRecord) -> None:
        """Refuse to continue the chain of another sensor that is there and on.

        Raises:
            ConfigurationError: another sensor of this Dagster claims the ranges of this consumer.
        """
        author = last.recorded_by
        if not self._deployment or not (author.startswith(_AUTHOR) and author.endswith(self._deployment)):
            return
        other = author.removeprefix(_AUTHOR).removesuffix(self._deployment)
        if other == self._name or not self._claims(other):
            return
        raise ConfigurationError(
            f"sensor {other!r} claims the ranges of {last.stream} for {last.consumer!r}, and sensor {self._name!r} "
            f"would take a part of them away from it: give {other!r} the targets of both, or give this sensor and its "
            f"assets StreamCutPartitions with a consumer of their own. If {other!r} is not there any more, stop it on "
            "the page of automations, or wait until it has had no tick for some minutes"
        )

    def _claims(self, other: str) -> bool:
        repository = self._context.repository_def
        if repository is not None and repository.has_sensor_def(other):
            metadata = repository.get_sensor_def(other).metadata
            return all(plain(metadata.get(key)) == value for key, value in self._tags.items())
        # It may be of another code location, or gone: Dagster keeps its state in both cases.
        from dagster._core.scheduler.instigation import InstigatorType, SensorInstigatorData

        for state in self._context.instance.all_instigator_state(instigator_type=InstigatorType.SENSOR):
            data = state.instigator_data
            if state.name == other and state.is_running and isinstance(data, SensorInstigatorData):
                ticked = data.last_tick_start_timestamp or data.last_tick_timestamp or 0.0
                return time.time() - ticked < max(_GONE_SECONDS, 3.0 * (data.min_interval or 0))
        return False
