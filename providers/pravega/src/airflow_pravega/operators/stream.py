# long because: nine operators of streams, each with the docstring of its arguments, which the reference shows
"""Operators that make, change and delete streams, and, from `operators.scope`, their scopes.

They may run again: they succeed if the stream has the wanted state already. Each returns True if it has changed it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise
from math import isclose
from typing import Any, Final

from airflow.sdk import Context, XComArg

from aiopravega import UNBOUNDED, RetentionPolicy, ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import StreamConfiguration
from aiopravega.errors import (
    AlreadyExistsError,
    ConfigurationError,
    StreamNotFoundError,
    StreamSealedError,
    StreamTruncatedError,
)
from aiopravega.names import check_name
from aiopravega.read.calls import find_cut
from aiopravega.read.history import Order
from airflow_pravega.lineage import StreamChange, changed_stream
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.operators.scope import PravegaCreateScopeOperator, PravegaDeleteScopeOperator
from airflow_pravega.operators.stream_operator import (
    IfNotExists,
    PravegaStreamChangeOperator,
    PravegaStreamOperator,
    reconfigure,
)
from airflow_pravega.tasks.arguments import LATEST, check_choice, choice_of, in_order, position_of, whole_number
from airflow_pravega.tasks.failures import failing_for_good

__all__ = [
    "IfExists",
    "PravegaCreateScopeOperator",
    "PravegaCreateStreamOperator",
    "PravegaDeleteScopeOperator",
    "PravegaDeleteStreamOperator",
    "PravegaScaleStreamOperator",
    "PravegaSealStreamOperator",
    "PravegaTruncateStreamOperator",
    "PravegaUpdateStreamOperator",
]

# The controller's edges of segments are rounded.
_EDGE: Final = 1e-9


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


class IfExists(StrEnum):
    """The rule for a stream that is to be made and is there."""

    KEEP = "keep"
    UPDATE = "update"
    FAIL = "fail"


class PravegaCreateStreamOperator(ReportsLineage, PravegaStreamOperator):
    """Makes a stream, and its scope if that is missing; returns True if the stream was missing.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        scaling: the scaling policy, for the number of segments; by default one segment.
        retention: the retention policy; by default all data stays.
        tags: tags to find it by. (templated)
        timestamp_aggregation_timeout: the time for which the stream's watermarks wait for a writer that notes no new
            event time; by default not at all. Give it if writers note times.
        create_scope: make a missing scope.
        if_exists: the rule for a stream that is there: `"keep"` its configuration; `"update"` it, as
            `PravegaUpdateStreamOperator` does; or `"fail"`, also if an earlier try has made it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "tags", "if_exists", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream: str,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Iterable[str] | None = None,
        timestamp_aggregation_timeout: timedelta | None = None,
        create_scope: bool = True,
        if_exists: str = IfExists.KEEP.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(stream=stream, **kwargs)
        check_choice(IfExists, "if_exists", if_exists)
        self.scaling = scaling
        self.retention = retention
        self.tags = None if tags is None else in_order(tags)
        self.timestamp_aggregation_timeout = timestamp_aggregation_timeout
        self.create_scope = create_scope
        self.if_exists = if_exists

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        del context
        check_name("stream", stream.stream)  # names with an underscore in front are for Pravega's internal streams
        choice_of(IfExists, "if_exists", self.if_exists)

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> bool:
        """Make the stream."""
        del context
        if self.create_scope:
            client.create_scope(stream.scope)
        made = client.create_stream(
            stream,
            self.scaling,
            self.retention,
            self.tags or (),
            timestamp_aggregation_timeout=self.timestamp_aggregation_timeout or timedelta(),
        )
        match choice_of(IfExists, "if_exists", self.if_exists):
            case IfExists.FAIL if not made:
                raise AlreadyExistsError(
                    f"stream {stream} is there already, and if_exists is 'fail': take another name"
                )
            case IfExists.UPDATE if not made:
                settings = _settings(self.scaling, self.retention, self.tags, self.timestamp_aggregation_timeout)
                changed = reconfigure(client, stream, settings.over)
                self.log.info("Stream %s was there, and %s", stream, "is updated" if changed else "as it is to be")
            case _:
                self.log.info("Stream %s %s", stream, "is made" if made else "was there, and keeps its configuration")
        if made:
            self.lineage = changed_stream(client.config, stream, StreamChange.CREATE)
        return made


class PravegaUpdateStreamOperator(PravegaStreamChangeOperator):
    """Changes the configuration of a stream; returns True if it has changed. Settings that are not given stay.

    A fixed scaling policy that differs from the stream's takes effect at once.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        scaling: the scaling policy, for the number of segments.
        retention: the retention policy.
        tags: all its tags, beside the mark of its commit ledger, which stays; to add or remove some, see
            `PravegaTagStreamOperator`. (templated)
        timestamp_aggregation_timeout: the time for which the stream's watermarks wait for a writer that notes no new
            event time.
        if_not_exists: the rule for a missing stream: `"fail"`, or `"ignore"` it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "tags", "if_not_exists", "pravega_conn_id")

    def __init__(
        self,
        *,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Iterable[str] | None = None,
        timestamp_aggregation_timeout: timedelta | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.scaling = scaling
        self.retention = retention
        self.tags = None if tags is None else in_order(tags)
        self.timestamp_aggregation_timeout = timestamp_aggregation_timeout
        with failing_for_good():
            if self._given == StreamSettings():
                raise ConfigurationError(
                    "there is nothing to update: give scaling, retention, tags or timestamp_aggregation_timeout"
                )

    @property
    def _given(self) -> StreamSettings:
        return _settings(self.scaling, self.retention, self.tags, self.timestamp_aggregation_timeout)

    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """Update the stream."""
        changed = reconfigure(client, stream, self._given.over)
        self.log.info("Stream %s %s", stream, "is updated" if changed else "is configured so already")
        return changed


class PravegaScaleStreamOperator(PravegaStreamChangeOperator):
    """Brings a stream to a number of segments of equal width; returns True if it had other segments.

    A stream with a scaling policy by rate changes its segments itself afterwards. A stream with a fixed number of
    segments returns to that number when another program updates it, even its tags only. The operators of this package
    keep its segments, since they give the policy the number of segments that there are. `PravegaUpdateStreamOperator`
    changes the policy.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        segments: number of segments, at least 1; a number or its text. (templated)
        if_not_exists: the rule for a missing stream: `"fail"`, or `"ignore"` it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "segments", "if_not_exists", "pravega_conn_id")

    def __init__(self, *, segments: int | str | XComArg, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.segments = segments

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        if whole_number("segments", self.segments) < 1:
            raise ConfigurationError(f"segments is {self.segments!r}, but a stream has at least 1")

    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """Scale the stream, and wait until it is done."""
        count = whole_number("segments", self.segments)
        current = client.run(client.controller.current_segments(stream))
        if not current:
            raise StreamSealedError(f"cannot scale {stream}: it is sealed, so its segments do not change any more")
        wanted = list(pairwise(number / count for number in range(count + 1)))
        present = sorted((entry.low, entry.high) for entry in current)
        if len(present) == count and all(
            isclose(low, one[0], abs_tol=_EDGE) and isclose(high, one[1], abs_tol=_EDGE)
            for one, (low, high) in zip(present, wanted, strict=True)
        ):
            self.log.info("Stream %s has %d segments of equal width already", stream, count)
            return False
        client.scale_stream(stream, count)
        self.log.info("Stream %s is scaled from %d to %d segments", stream, len(present), count)
        return True


class PravegaTruncateStreamOperator(PravegaStreamChangeOperator):
    """Removes all events of a stream before a cut, forever; returns True if there were events.

    The cut is checked: it must be of this stream, not beyond the tail, and between events.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        cut: the text of a cut; `"latest"` (the tail, to remove all events of now); or a range, which stands for its
            end. (templated)
        if_not_exists: the rule for a missing stream: `"fail"`, or `"ignore"` it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    kind_of_change = StreamChange.TRUNCATE
    template_fields: Sequence[str] = ("stream", "cut", "if_not_exists", "pravega_conn_id")

    def __init__(self, *, cut: str | Mapping[str, str] | XComArg, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cut = cut

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        if position_of(self.cut, stream) == UNBOUNDED:
            raise ConfigurationError(f"cannot truncate {stream} at an unbounded StreamCut: give its text, or {LATEST}")

    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """Truncate the stream."""
        head = client.head(stream)
        cut = client.run(find_cut(client.asynchronous, stream, position_of(self.cut, stream)))
        try:
            located = client.check_cut(cut)
        except StreamTruncatedError:
            if client.compare(cut, head) is not Order.BEFORE:
                raise
            self.log.info("Stream %s starts after %s already", stream, cut)
            return False
        removed = client.distance(head, located)
        if removed:
            client.truncate_stream(located)
        self.log.info("Stream %s starts at %s: %s bytes are removed", stream, located, f"{removed:,}")
        return bool(removed)


class PravegaSealStreamOperator(PravegaStreamChangeOperator):
    """Seals a stream, which can then be read but takes no more events; returns whether it was open.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        if_not_exists: the rule for a missing stream: `"fail"`, or `"ignore"` it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "if_not_exists", "pravega_conn_id")

    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """Seal the stream."""
        was_open = not client.is_sealed(stream)
        if was_open:
            client.seal_stream(stream)
        self.log.info("Stream %s %s", stream, "is sealed" if was_open else "was sealed")
        return was_open


class PravegaDeleteStreamOperator(PravegaStreamChangeOperator):
    """Seals and deletes a stream with all its events; returns whether it was there.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        if_not_exists: the rule for a missing stream: `"ignore"` it, or `"fail"`. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    kind_of_change = StreamChange.DROP
    template_fields: Sequence[str] = ("stream", "if_not_exists", "pravega_conn_id")

    def __init__(self, *, if_not_exists: str = IfNotExists.IGNORE.value, **kwargs: Any) -> None:
        super().__init__(if_not_exists=if_not_exists, **kwargs)

    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """Delete the stream."""
        if not client.delete_stream(stream):
            raise StreamNotFoundError(f"stream {stream} is not there, and if_not_exists is 'fail'")
        self.log.info("Stream %s is deleted", stream)
        return True


def _settings(
    scaling: ScalingPolicy | None,
    retention: RetentionPolicy | None,
    tags: Sequence[str] | None,
    timestamp_aggregation_timeout: timedelta | None,
) -> StreamSettings:
    return StreamSettings(scaling, retention, None if tags is None else tuple(tags), timestamp_aggregation_timeout)
