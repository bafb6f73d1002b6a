"""Intervals of the cut ledger as plain JSON between tasks: from the task that finds one to the one that finishes it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException
from airflow.sdk import Context

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.ledger import CutRecord, Interval
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.identity import write_name

# Of a message of Spark, which brings its own traceback.
_LONGEST_REASON: Final = 1000


def to_xcom(record: CutRecord) -> dict[str, str]:
    """A range, and which interval of whom it is; `since` and `until` are its event times, if it has any."""
    found = {**record.range.to_json(), "consumer": record.consumer, "interval": record.interval}
    if record.since is not None and record.until is not None:
        found |= {"since": record.since.isoformat(), "until": record.until.isoformat()}
    return found


def range_of(given: object) -> StreamCutRange:
    """The range that a sensor, or another task, has given to an operator that does not know the times of events.

    Raises:
        ConfigurationError: it is no range, or one of event times, which has events of other times too.
        InvalidStreamCutError: a text is not a cut.
    """
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"stream_cuts is {given!r}, but must be a range with the texts start and end")
    if "since" in given or "until" in given:
        raise ConfigurationError(
            "stream_cuts is of event times, and its range has events of other times too: read it with "
            "PravegaSparkReadOperator, which knows the times of events"
        )
    return StreamCutRange.from_json(given)


def shown(cuts: StreamCutRange | None) -> str:
    """A range in a line of a log."""
    return "between cuts that are not known" if cuts is None else f"from {cuts.start} to {cuts.end}"


def finish(client: PravegaClient, stream: StreamName, cuts: Any, processed: StreamCutRange, by: str) -> None:
    """Record that the interval which a range names has been processed; a range may name none.

    Raises:
        LedgerError: the interval has got another range meanwhile.
    """
    if "consumer" in cuts and "interval" in cuts:
        interval = Interval(cuts["consumer"], stream, cuts["interval"])
        client.cut_ledger(stream.scope).finish(interval, processed, by=by)


@contextmanager
def failures_recorded(hook: PravegaHook, stream: str, cuts: Any, context: Context) -> Iterator[None]:
    """Run a block that processes the interval of a range; if it fails and is not tried again, record that and why."""
    try:
        yield
    except Exception as error:
        named = isinstance(cuts, Mapping) and {"consumer", "interval"} <= cuts.keys()
        if named and (isinstance(error, AirflowFailException) or _is_last_try(context)):
            # The error that matters is the other one.
            with suppress(PravegaError, AirflowNotFoundException), hook.get_client() as client:
                name = StreamName.parse(stream, client.config.scope)
                interval = Interval(cuts["consumer"], name, cuts["interval"])
                client.cut_ledger(name.scope).fail(interval, f"{error}"[:_LONGEST_REASON], by=write_name(context))
        raise


def _is_last_try(context: Context) -> bool:
    ti = context["ti"]
    return ti.try_number > ti.max_tries
