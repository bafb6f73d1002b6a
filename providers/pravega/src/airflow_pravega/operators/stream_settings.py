"""Changes of a stream's configuration: a setting that is not given stays as it is."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from aiopravega import RetentionPolicy, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import StreamConfiguration, amend_stream


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Settings of a stream; None: the setting stays as it is."""

    scaling: ScalingPolicy | None = None
    retention: RetentionPolicy | None = None
    tags: tuple[str, ...] | None = None
    timestamp_aggregation_timeout: timedelta | None = None

    def over(self, configuration: StreamConfiguration) -> StreamConfiguration:
        """A configuration with these settings."""
        given: dict[str, Any] = {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}
        return replace(configuration, **given)


def reconfigure(
    client: PravegaClient, stream: StreamName, change: Callable[[StreamConfiguration], StreamConfiguration]
) -> bool:
    """Change the configuration of a stream; returns True if that has changed it. The mark of its ledger stays.

    Raises:
        StreamNotFoundError: there is no such stream.
        StreamSealedError: the stream is sealed.
        ConfigurationError: Pravega refuses the configuration.
    """
    before = client.run(client.controller.stream_configuration(stream))
    return client.run(amend_stream(client.controller, stream, before, change(before)))
