"""A callback for deadline alerts of Airflow: it says what of a stream is missing, when a run has missed its deadline.

Airflow computes the time of a deadline once, in the scheduler, when it makes or queues the run: no reference can ask a
stream. So the reference is one of Airflow's own, and the stream is asked when the deadline has passed, on the
triggerer.
"""

import logging
from collections.abc import Mapping
from typing import Any

from airflow.providers.common.compat.module_loading import import_string

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import NoWatermarksError, PravegaError
from aiopravega.intervals.reports.freshness import freshness_of
from aiopravega.intervals.reports.lag import lag_of
from aiopravega.times import TimeUnit
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.polling.shared_client import shared_client
from airflow_pravega.tasks.identity import deployed_name

logger = logging.getLogger(__name__)


async def say_what_is_missing(
    *,
    stream: str,
    consumer: str | None = None,
    unit: str = TimeUnit.MS.name.lower(),
    pravega_conn_id: str = PravegaHook.default_conn_name,
    notify: str | None = None,
    notify_kwargs: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
) -> str:
    """Log as an error what a run that missed its deadline waits for, and hand the text on; for an `AsyncCallback`.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope.
        consumer: the consumer whose lag is reported, `dag/task` by default; None: only the watermark of the stream is
            reported.
        unit: the unit of the times of the stream's writers: `ns`, `us`, `ms` or `s`.
        pravega_conn_id: id of the connection.
        notify: the dotted name of a coroutine function, or of a notifier of Airflow that is awaited, on the triggerer.
            It is called with `text`.
        notify_kwargs: its further arguments.
        context: given by Airflow.

    Returns:
        The text. Airflow stores what a callback returns as a text; its triggerer ends if it is something else.

    Raises:
        ConfigurationError: an argument cannot work.
        AirflowNotFoundException: there is no such connection.
        ImportError: `notify` cannot be imported on the triggerer.
    """
    config = await PravegaHook(pravega_conn_id).aget_config()
    name, of_unit = StreamName.parse(stream, config.scope), TimeUnit.parse(unit)
    try:
        async with shared_client(config) as client:
            texts = await _missing(client, name, None if consumer is None else deployed_name(consumer), of_unit)
    except PravegaError as error:  # the deadline is reported in any case
        texts = [f"the cluster does not say more: {type(error).__name__}: {error}"]
    text = f"{_run_of(context)} has missed its deadline: {'; '.join(texts)}"
    logger.error("%s", text)
    if notify is not None:
        await import_string(notify)(text=text, **(notify_kwargs or {}))
    return text


async def _missing(client: PravegaClient, stream: StreamName, consumer: str | None, unit: TimeUnit) -> list[str]:
    texts = []
    try:
        freshness = await freshness_of(client, stream, unit=unit)
    except NoWatermarksError:
        texts.append(f"no writer of {stream} notes times")
    else:
        until = freshness.complete_until
        is_complete = "sealed" if until is None else f"complete until {until.isoformat(timespec='seconds')}"
        texts.append(f"{stream} is {is_complete}")
    if consumer is not None:
        lag = await lag_of(client, stream, consumer)
        texts.append(f"{consumer!r} is {lag.size:,} bytes behind")
        texts += [
            f"interval {record.interval!r} is {record.state.value} since "
            f"{record.state_since.isoformat(timespec='seconds')}"
            for record in lag.waiting[:1]
        ]
        if lag.loss is not None:
            texts.append(lag.loss)
    return texts


def _run_of(context: Mapping[str, Any] | None) -> str:
    run = (context or {}).get("dag_run") or {}
    deadline = (context or {}).get("deadline") or {}
    name = f"the run {run['dag_run_id']} of {run['dag_id']}" if "dag_run_id" in run else "a run"
    return f"{name} (to be done by {deadline['deadline_time']})" if "deadline_time" in deadline else name
