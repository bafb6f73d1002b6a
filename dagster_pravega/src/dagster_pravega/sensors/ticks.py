"""Ticks of the sensors: each asks the cluster within a time limit, and names the host that does not answer.

Dagster ends a tick after 60 s, with an error about the code server. The sum of the client's own limits is longer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from dagster import (
    DefaultSensorStatus,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)

from aiopravega import PravegaClient, PravegaConfig
from aiopravega.errors import PravegaError, PravegaTimeoutError
from aiopravega.loop import LoopThread
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.sensors.outages import Outages

T = TypeVar("T")
TickFunction: TypeAlias = Callable[[SensorEvaluationContext], SensorResult | SkipReason]
TICK_SECONDS: Final = 20.0
# It lives as long as the code server.
_OUTAGES: Final = Outages()


def ask_in_tick(
    resource: PravegaResource, question: Callable[[PravegaClient], Awaitable[T]], seconds: float = TICK_SECONDS
) -> T | SkipReason:
    """The answer of the cluster; a SkipReason with the error if the cluster does not answer: the next tick asks again.

    Raises:
        PravegaError: an error that is not retryable.
    """
    try:
        return LoopThread.shared().run(ask_within(resource.get_config(), question, seconds))
    except PravegaError as error:
        if not error.retryable:
            raise
        return SkipReason(f"the cluster cannot be asked now: {type(error).__name__}: {error}")


async def ask_within(
    config: PravegaConfig,
    question: Callable[[PravegaClient], Awaitable[T]],
    seconds: float,
    outages: Outages = _OUTAGES,
) -> T:
    """The answer of a cluster to a question of a tick that has so much time left.

    A cluster that has not answered the last tick gets one short try, so that the ticks of other clusters are in time.

    Raises:
        PravegaTimeoutError: the cluster has not answered within the time.
        PravegaError: it cannot be asked, or refuses.
    """
    cluster = config.controller_uri
    limits = outages.limits(cluster).items()
    limited = config.model_copy(update={name: min(getattr(config, name), limit) for name, limit in limits})
    try:
        async with asyncio.timeout(seconds), PravegaClient(limited) as client:
            answer = await question(client)
    except PravegaError as error:
        if error.retryable:
            outages.failed(cluster)
        raise
    except TimeoutError:  # of the tick: the cluster may have answered, and the question may be large
        raise PravegaTimeoutError(
            f"the cluster of {cluster} has not answered all of a tick within {seconds:g} s"
        ) from None
    outages.answered(cluster)
    return answer


def cluster_sensor(
    name: str,
    target: Any,
    resource_keys: set[str],
    minimum_interval_seconds: int,
    default_status: DefaultSensorStatus,
    description: str,
    metadata: Mapping[str, Any] | None = None,
) -> Callable[[TickFunction], SensorDefinition]:
    """A decorator that makes a sensor of a function for one tick, with these settings and resources."""
    return sensor(
        name=name,
        target=target,
        required_resource_keys=resource_keys,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=description,
        metadata=metadata,
    )
