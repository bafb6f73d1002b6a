"""Operators for small lists of events, which go through XCom, without Spark."""

import base64
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, cast

from airflow.sdk import Context, XComArg

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import ledger_name
from aiopravega.read import Event
from airflow_pravega.asset_events import tell, took, written
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import Lineage, range_read, written_once
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.links import LinkedToConsumer
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.arguments import check_choice, choice_of, whole_number
from airflow_pravega.tasks.failures import ProcessesInterval
from airflow_pravega.tasks.identity import write_name
from airflow_pravega.tasks.intervals import finish, range_of, shown
from pravega_jobs.events.lists import NewEvent, read_event_list, write_event_list
from pravega_jobs.ranges import fix_range

_MOST_EVENTS: Final = 1000
# XComs of all databases take so much.
_MOST_BYTES: Final = 1024 * 1024


class EventForm(StrEnum):
    """The form of an event in XCom."""

    TEXT = "text"
    JSON = "json"
    BASE64 = "base64"


class PravegaWriteEventsOperator(ReportsLineage, PravegaStreamOperator):
    """Writes a list of events to a stream exactly once, all at once; further tries of the same write id add nothing.

    If the write is done already, the events are compared with the written ones. The task fails if they differ, for
    example if it was cleared because its code or source has changed. Returns `{"stream", "write_id", "events", "bytes",
    "cuts", "written"}`, as `PravegaSparkWriteOperator` does.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope; it must exist. (templated)
        events: each is a text, which is written as UTF-8, bytes, or an object or a list, which is written as JSON.
            (templated)
        routing_keys: a key for each event, or one key for all; events of one key stay in their order. (templated)
        write_id: name of the write; by default made of DAG, task, map index and the run's partition key, logical date
            or id. Another id writes again. (templated)
        commit_ledger: `scope/table` of the commit ledger; by default a table in the stream's scope. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = (
        "stream",
        "events",
        "routing_keys",
        "write_id",
        "commit_ledger",
        "pravega_conn_id",
    )

    def __init__(
        self,
        *,
        events: Sequence[Any] | XComArg,
        routing_keys: Sequence[str] | str | XComArg | None = None,
        write_id: str | None = None,
        commit_ledger: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)  # so that `output["…"]` works
        super().__init__(**kwargs)
        self.events = events
        self.routing_keys = routing_keys
        self.write_id = write_id
        self.commit_ledger = commit_ledger

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        ledger_name(self.commit_ledger, stream.scope)
        _new_events(self.events, self.routing_keys)

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> dict[str, Any]:
        """Write, or compare with what is written."""
        write_id = self.write_id or write_name(context)
        events = _new_events(self.events, self.routing_keys)
        done = client.run(write_event_list(client.asynchronous, stream, write_id, events, self.commit_ledger))
        cuts = done.record.cuts
        result = {
            "stream": str(stream),
            "write_id": write_id,
            "events": done.record.total_events,
            "bytes": done.record.total_bytes,
            "cuts": cuts and cuts.to_json(),
            "written": done.by_this_try,
        }
        self.lineage = Lineage(outputs=(written_once(client.config, result),))
        tell(context, written(result))
        self.log.info(
            "%s to %s %s: %d events, %s bytes, write id %r",
            "Written" if done.by_this_try else "Written already",
            stream,
            shown(cuts),
            done.record.total_events,
            f"{done.record.total_bytes:,}",
            write_id,
        )
        return result


class PravegaReadEventsOperator(ReportsLineage, LinkedToConsumer, ProcessesInterval, PravegaStreamOperator):
    """Returns all events of a small range: `{"events": list, "bytes": number, "start": text, "end": text}`.

    Events of one routing key come in the order of their writing. A range with more than `max_events` or `max_bytes`
    fails the task: `PravegaSparkReadOperator` is for large ranges. The result is one XCom, so that the events are in
    Airflow's database once; with `multiple_outputs=True`, each of its keys is also one.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the range, `{"start": text, "end": text}`, such as a sensor's output. If it also has the names
            `consumer` and `interval`, the interval is recorded as done. A range of event times is refused. (templated)
        form: the form of an event in the result: `"text"` (UTF-8), `"json"` (its value), or `"base64"`. (templated)
        max_events: the most events of the range. (templated)
        max_bytes: the most bytes, event headers (8 bytes each) included; 1 MiB by default. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "stream_cuts", "form", "max_events", "max_bytes", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream_cuts: Mapping[str, str] | XComArg,
        form: str = EventForm.TEXT.value,
        max_events: int | str = _MOST_EVENTS,
        max_bytes: int | str = _MOST_BYTES,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice(EventForm, "form", form)
        self.stream_cuts = stream_cuts
        self.form = form
        self.max_events = max_events
        self.max_bytes = max_bytes

    def execute(self, context: Context) -> Any:
        """Check the range, then read it."""
        hook = PravegaHook(self.pravega_conn_id)
        with self.failures_recorded(hook, self.stream_cuts, context):
            return super().execute(context)

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        choice_of(EventForm, "form", self.form)
        whole_number("max_events", self.max_events)
        whole_number("max_bytes", self.max_bytes)
        range_of(self.stream_cuts)
        self.link_to_consumer(context, stream, self.stream_cuts)

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> dict[str, Any]:
        """Read the events."""
        wanted = range_of(self.stream_cuts)
        fixed = client.run(fix_range(client.asynchronous, stream, wanted.start, wanted.end))
        limits = {name: whole_number(name, getattr(self, name)) for name in ("max_events", "max_bytes")}
        events = client.run(read_event_list(client.asynchronous, fixed.cuts, stream, **limits))
        read = range_read(client.config, stream, fixed.cuts, self.stream_cuts, events=len(events), bytes=fixed.size)
        self.lineage = Lineage((read,))
        form = choice_of(EventForm, "form", self.form)
        result = {"events": [_shown(event, form) for event in events], "bytes": fixed.size, **fixed.cuts.to_json()}
        finish(client, stream, cast("Mapping[str, str]", self.stream_cuts), fixed.cuts, context)
        tell(context, took(stream, fixed.cuts, self.stream_cuts, rows=len(events), bytes=fixed.size))
        self.log.info("Read %s %s: %d events, %s bytes", stream, shown(fixed.cuts), len(events), f"{fixed.size:,}")
        return result


def _new_events(events: object, routing_keys: object) -> list[NewEvent]:
    if isinstance(events, str | bytes) or not isinstance(events, Sequence):
        raise ConfigurationError(f"events is of type {type(events).__name__}, but must be a list of events")
    data = [_written(number, event) for number, event in enumerate(events)]
    if routing_keys is None or isinstance(routing_keys, str):
        return [NewEvent(each, routing_keys) for each in data]
    if not isinstance(routing_keys, Sequence) or len(routing_keys) != len(data):
        raise ConfigurationError(f"routing_keys must be one text, or one for each of the {len(data)} events")
    wrong = [key for key in routing_keys if not isinstance(key, str)]
    if wrong:
        raise ConfigurationError(f"routing key {wrong[0]!r} is not a text")
    return [NewEvent(each, key) for each, key in zip(data, routing_keys, strict=True)]


def _written(number: int, event: object) -> bytes:
    match event:
        case bytes():
            return event
        case str():
            return event.encode()
        case Mapping() | list() | tuple():
            try:
                return json.dumps(event, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
            except (TypeError, ValueError) as error:
                raise ConfigurationError(f"event {number} cannot be written as JSON: {error}") from error
        case _:
            raise ConfigurationError(
                f"event {number} is of type {type(event).__name__}: give a text, bytes, or an object or list for JSON"
            )


def _shown(event: Event, form: EventForm) -> Any:
    try:
        match form:
            case EventForm.TEXT:
                return event.data.decode()
            case EventForm.JSON:
                return json.loads(event.data)
            case EventForm.BASE64:
                return base64.b64encode(event.data).decode()
    except ValueError as error:
        raise ConfigurationError(
            f"the event at offset {event.offset} of {event.segment} is not {form.value}: {error}. Take "
            f"form={EventForm.BASE64.value!r}, or read the range with Spark"
        ) from error
