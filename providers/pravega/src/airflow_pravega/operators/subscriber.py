"""Operators for subscribers: retention keeps the data that a subscriber has not reported as read."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from airflow.sdk import Context, XComArg

from aiopravega import UNBOUNDED, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import (
    ConfigurationError,
    InvalidStreamCutError,
    StreamMadeAgainError,
    StreamNotFoundError,
    StreamTruncatedError,
)
from aiopravega.names import check_name
from aiopravega.read.positions import find_cut
from airflow_pravega.operators.stream_operator import PravegaStreamChangeOperator
from airflow_pravega.tasks.arguments import check_choice, check_word, choice_of, position_of


class IfBehind(StrEnum):
    """The rule for a cut that lies before the one that a subscriber has reported already."""

    FAIL = "fail"
    IGNORE = "ignore"


class PravegaSubscriberCutOperator(PravegaStreamChangeOperator):
    """Reports that a subscriber needs no data of a stream before a cut; makes the subscriber if it is missing.

    Returns whether the cut was reported. Put it after the tasks that read the range.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        subscriber: its name in this stream. (templated)
        cut: the text of a cut, `"earliest"`, `"latest"`, or a range, such as a sensor's output, which stands for its
            end. (templated)
        if_behind: the rule for a cut before the subscriber's reported one, or before the head of the stream: `"fail"`,
            since two readers may use the name; or `"ignore"` it, for runs that are cleared. (templated)
        if_not_exists: the rule for a missing stream: `"fail"`, or `"ignore"` it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    kind_of_change = None
    template_fields: Sequence[str] = ("stream", "subscriber", "cut", "if_behind", "if_not_exists", "pravega_conn_id")

    def __init__(
        self,
        *,
        subscriber: str,
        cut: str | Mapping[str, str] | XComArg,
        if_behind: str = IfBehind.FAIL.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_word("subscriber", subscriber)
        check_choice(IfBehind, "if_behind", if_behind)
        self.subscriber = subscriber
        self.cut = cut
        self.if_behind = if_behind

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        check_name("subscriber", self.subscriber)
        choice_of(IfBehind, "if_behind", self.if_behind)
        if position_of(self.cut, stream) == UNBOUNDED:
            raise ConfigurationError(f"an unbounded StreamCut is not a position in {stream}: give its text")

    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """Report the cut."""
        cut = client.run(find_cut(client.asynchronous, stream, position_of(self.cut, stream)))
        ignores = choice_of(IfBehind, "if_behind", self.if_behind) is IfBehind.IGNORE
        try:
            located = client.check_cut(cut)
        except StreamTruncatedError as error:
            return self._behind(error, ignores)
        try:
            client.subscribe(stream, self.subscriber, located, between_events=True)
        except StreamMadeAgainError:
            raise
        except InvalidStreamCutError as error:  # the cut itself is valid: the subscriber has reported a later one
            return self._behind(error, ignores)
        self.log.info("Subscriber %s of %s needs nothing before %s", self.subscriber, stream, located)
        return True

    def _behind(self, error: InvalidStreamCutError | StreamTruncatedError, ignores: bool) -> bool:
        if not ignores:
            raise error
        self.log.warning("Nothing is reported: %s", error)
        return False


class PravegaUnsubscribeOperator(PravegaStreamChangeOperator):
    """Ends a subscription, so that retention does not wait for it any more; returns whether it was there.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        subscriber: its name in this stream. (templated)
        if_not_exists: the rule for a missing stream: `"fail"`, or `"ignore"` it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    kind_of_change = None
    template_fields: Sequence[str] = ("stream", "subscriber", "if_not_exists", "pravega_conn_id")

    def __init__(self, *, subscriber: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_word("subscriber", subscriber)
        self.subscriber = subscriber

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        check_name("subscriber", self.subscriber)

    def change(self, client: PravegaClient, stream: StreamName) -> bool:
        """End the subscription."""
        if not client.stream_exists(stream):
            raise StreamNotFoundError(f"cannot unsubscribe {self.subscriber} from {stream}: there is no such stream")
        ended = client.unsubscribe(stream, self.subscriber)
        self.log.info("Subscriber %s of %s %s", self.subscriber, stream, "is gone" if ended else "was not there")
        return ended
