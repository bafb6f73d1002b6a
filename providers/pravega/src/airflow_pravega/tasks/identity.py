"""Identities of a task's work: the same for every try, and others for every run.

The try number is never part of a name: a second try has to be recognised as the same work. The index of a
mapped task is not part of its consumer's name: a list may grow at its front, and the stream says which one it is.
`pravega_jobs.identity` makes the names.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import Context

from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CutRecord
from pravega_jobs.identity.names import (
    AIRFLOW,
    consumer_of_task,
    interval_of_moment,
    interval_of_partition,
    interval_of_task,
    write_of_task,
)

_DAG_TEST: Final = "dag_test"  # the user of Airflow who has started a run of `dag.test()`
# No slash: it separates the deployment from the consumer.
_DEPLOYMENT: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_PARTITION: Final = interval_of_partition("")
# `airflow tasks test` makes a run with such an id, and deletes it afterwards.
TEMPORARY_RUN: Final = "__airflow_temporary_run_"
# Texts that a template gives for a parameter without a value.
_NO_NAMES: Final = ("", "None")


def records_nothing(context: Context) -> bool:
    """True for a task of a run that is deleted after it, as `airflow tasks test` makes one.

    A run of `dag.test()` stays in Airflow's database, and is a run as others are. With `[pravega] record_tests`,
    tests are also recorded.
    """
    is_temporary = str(context["ti"].run_id).startswith(TEMPORARY_RUN)
    return is_temporary and not conf.getboolean("pravega", "record_tests", fallback=False)


def is_dag_test(context: Context) -> bool:
    """True for a task of a run of `dag.test()`, unless tests are to be recorded: see `records_nothing`."""
    author = getattr(context["dag_run"], "triggering_user_name", None)
    return author == _DAG_TEST and not conf.getboolean("pravega", "record_tests", fallback=False)


def map_index(context: Context) -> int | None:
    """The index of a mapped task; None for others."""
    index = context["ti"].map_index
    return index if index is not None and index >= 0 else None


def task_name(context: Context) -> str:
    """The name of the task for people: `dag/task`, or `dag/task/index` for a mapped one."""
    ti, index = context["ti"], map_index(context)
    return consumer_of_task(ti.dag_id, ti.task_id) + ("" if index is None else f"/{index}")


def chain_name(context: Context, given: str | None) -> str:
    """The name of the task's chain of ranges in the cut ledger: `given`, or the name of the task.

    Raises:
        ConfigurationError: `given` is empty, or the deployment's name is not valid.
    """
    if given is not None:
        return deployed_name(given)
    ti = context["ti"]
    return f"{_deployment_prefix()}{consumer_of_task(ti.dag_id, ti.task_id)}"


def deployed_name(given: str) -> str:
    """The name of a chain of ranges in the cut ledger, by the name that sensors and triggers get.

    The name of this deployment comes before it, if the configuration has one (`[pravega] deployment`): two deployments
    with the same DAGs then have separate chains. A given name that begins with the deployment's name is not changed.

    Raises:
        ConfigurationError: `given` is empty, or the deployment's name is not valid.
    """
    check_consumer(given)
    prefix = _deployment_prefix()
    return given if given.startswith(prefix) else f"{prefix}{given}"


def check_consumer(given: str) -> None:
    """Check the name of a chain of ranges that a sensor or trigger gets.

    Raises:
        ConfigurationError: the name is empty.
    """
    if given.strip() in _NO_NAMES:
        raise ConfigurationError(f"consumer is {given!r}, which is not a name: leave it out, or give one")


def _deployment_prefix() -> str:
    deployment = conf.get("pravega", "deployment", fallback="") or ""
    if not deployment:
        return ""
    if not _DEPLOYMENT.fullmatch(deployment):
        raise ConfigurationError(
            f"[pravega] deployment is {deployment!r} in Airflow's configuration: use up to 100 letters, digits, '.', "
            "'_' and '-'"
        )
    return f"{deployment}/"


def interval_name(context: Context) -> str:
    """The name of the run's interval: its partition key, its logical date, or its id (for a run that assets start)."""
    return interval_of_run(context["dag_run"])


def interval_of_run(run: Any) -> str:
    """The name of a run's interval, for a run of the Task SDK or of Airflow's database."""
    partition = getattr(run, "partition_key", None)  # runs have one from Airflow 3.2 on
    if partition is not None:
        return interval_of_partition(partition)
    return str(run.run_id) if run.logical_date is None else interval_of_moment(run.logical_date)


@dataclass(frozen=True, slots=True)
class OwnInterval:
    """The interval of a task in its chain.

    An older release gave it the name `former`, which could mean intervals of other tasks and runs as well: a record
    with that name is this task's if `is_own` says so.
    """

    name: str
    former: str
    is_own: Callable[[CutRecord], bool]


def own_interval(context: Context, *, is_shared: bool) -> OwnInterval:
    """The interval of a task in its chain.

    A partition key can come again: the run is part of the name. A chain whose name is given can be shared with other
    tasks: the task is part of the name.
    """
    run, ti = context["dag_run"], context["ti"]
    former = interval_name(context)
    partition = getattr(run, "partition_key", None)
    name = former if partition is None else interval_of_partition(partition, ti.run_id)
    if is_shared:
        name = interval_of_task(name, consumer_of_task(ti.dag_id, ti.task_id))
    since = None if partition is None else run.run_after

    def is_own(record: CutRecord) -> bool:
        if record.claimant is not None:
            return (record.claimant.job, record.claimant.run, record.claimant.task) == (
                ti.dag_id,
                ti.run_id,
                ti.task_id,
            )
        return _is_author(record.recorded_by, ti, former) and (since is None or _is_since(record.recorded_at, since))

    return OwnInterval(name, former, is_own)


def _is_author(author: str, ti: Any, interval: str) -> bool:
    """True if a record was made by this task, or by any of its mapped instances, in a run with an interval."""
    begin, end = f"{AIRFLOW}/{consumer_of_task(ti.dag_id, ti.task_id)}/", f"/{interval}"
    if not f"{author}".startswith(begin) or not author.endswith(end):
        return False
    index = author.removeprefix(begin.removesuffix("/")).removesuffix(end).removeprefix("/")
    return not index or index.isdecimal()


def _is_since(time: datetime, since: datetime) -> bool:
    return time.astimezone(UTC) >= since.astimezone(UTC)


def run_order(context: Context) -> str:
    """The position of the run among the runs that wait for the same chain, as a text that sorts: date, then id."""
    run, ti = context["dag_run"], context["ti"]
    date = (run.logical_date or run.run_after).astimezone(UTC)
    return f"{date.isoformat(timespec='microseconds')} {run.run_id} {ti.dag_id}/{ti.task_id}/{ti.map_index}"


def write_name(context: Context, task_id: str | None = None) -> str:
    """The default write id of a task, or of another one of the run: its write in one run is done once."""
    ti = context["ti"]
    return write_of_task(ti.dag_id, task_id or ti.task_id, map_index(context), interval_name(context))


def plan_name(context: Context) -> str:
    """The default name of a backfill that a task plans: its plan in one run, also if its partition key comes again."""
    ti = context["ti"]
    return write_of_task(ti.dag_id, ti.task_id, map_index(context), own_interval(context, is_shared=False).name)


def start_of_partition(context: Context) -> datetime:
    """The time that begins the partition of a run: its partition date, or its key as ISO 8601, in UTC without a zone.

    Raises:
        ConfigurationError: the run has no partition key, or the key is not such a time.
    """
    date = context.get("partition_date")
    if date is not None:
        # Airflow gives times of pendulum, whose differences to other times are no timedeltas.
        return datetime.fromisoformat(date.isoformat()).astimezone(UTC)
    run = context["dag_run"]
    key = getattr(run, "partition_key", None)
    if key is None:
        raise ConfigurationError(
            f"the run {run.run_id} has no partition key: give its DAG a timetable of partitions (Airflow 3.2 and "
            "newer), or the sensor since= and until="
        )
    try:
        start = datetime.fromisoformat(key)
    except ValueError:
        raise ConfigurationError(
            f"the partition key {key!r} is not a time, such as 2026-01-01T05: give since= and until= as templates of "
            "partition_key"
        ) from None
    return start if start.tzinfo is not None else start.replace(tzinfo=UTC)


def dag_of(author: str, interval: str) -> str | None:
    """The id of the DAG whose run has recorded an interval, by the run's `write_name`; None if it was not a run."""
    if not author.startswith(f"{AIRFLOW}/") or not author.endswith(f"/{interval}"):
        return None
    return author.split("/")[1]


def partition_of(interval: str) -> str | None:
    """The partition key of the run that has an interval; None if the run has none."""
    return interval.removeprefix(_PARTITION) if interval.startswith(_PARTITION) else None
