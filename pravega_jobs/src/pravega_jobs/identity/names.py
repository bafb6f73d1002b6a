"""Names of consumers, intervals and writes: the only functions that make them, for all hosts.

A name means one thing, and one thing has one name. A consumer's name has no index of a list, no selection of outputs
and no try; a stream is part of the consumer's identity beside its name. Moments are named in UTC.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

AIRFLOW: Final = "airflow"
DAGSTER: Final = "dagster"
QUERY: Final = "sql"
_PARTITION: Final = "partition "
_RUN: Final = "run "


# --- consumers ----------------------------------------------------------------------------------------------


def consumer_of_task(job: str, task: str) -> str:
    """The consumer of a task of Airflow: `dag/task`, also for the mapped instances of the task."""
    return f"{job}/{task}"


def consumer_of_assets(keys: Iterable[str], name: str | None = None) -> str:
    """The consumer of the node of one or several assets in Dagster: `dagster/KEY`, by all assets that the node has.

    `name` is that of the input, if another input of the node reads the same stream.
    """
    return f"{DAGSTER}/{', '.join(sorted(keys))}" + ("" if name is None else f" input {name}")


def consumer_of_op(owner: str, path: str, name: str) -> str:
    """The consumer of an input of an op in Dagster: `dagster/OWNER/PATH.INPUT`.

    Args:
        owner: the keys of the assets of the graph that has the op, or `job NAME`.
        path: the names of the graphs and of the op, with slashes.
        name: of the input.
    """
    return f"{DAGSTER}/{owner}/{path}.{name}"


# --- intervals ----------------------------------------------------------------------------------------------


def interval_of_moment(moment: datetime) -> str:
    """The interval of a run with a logical date: the date in UTC."""
    return moment.astimezone(UTC).isoformat()


def interval_of_partition(key: str, run: str | None = None) -> str:
    """The interval of a partition key in Airflow; with `run`, of one run of the partition."""
    return f"{_PARTITION}{key}" + ("" if run is None else f", {_RUN}{run}")


def interval_of_run(run: str) -> str:
    """The interval of a run in Dagster; `run` is the id of the root run, which re-executions repeat."""
    return f"{_RUN}{run}"


def run_of_interval(interval: str) -> str | None:
    """The id of the run in Dagster that has an interval; None: the interval is not named by a run."""
    return interval.removeprefix(_RUN) if interval.startswith(_RUN) else None


def interval_of_task(interval: str, consumer: str) -> str:
    """The interval of a task that shares its chain with other tasks: two tasks of one date have two intervals.

    Args:
        interval: of the task's run.
        consumer: the task's own name, as `consumer_of_task` gives it.
    """
    return f"{interval} of {consumer}"


# --- writes -------------------------------------------------------------------------------------------------


def write_of_task(job: str, task: str, index: int | None, interval: str) -> str:
    """The write id of a task of Airflow: its write in one run is done once."""
    return f"{AIRFLOW}/{consumer_of_task(job, task)}" + ("" if index is None else f"/{index}") + f"/{interval}"


def write_of_asset(key: str, partition: str | None, run: str) -> str:
    """The write id of an asset in Dagster: of one partition, or of one run without partitions."""
    return f"{DAGSTER}/{key}/" + (f"{_PARTITION}{partition}" if partition is not None else f"{_RUN}{run}")


def write_of_query(consumer: str, interval: str) -> str:
    """The write id of `pravega sql` for an interval of a consumer."""
    return f"{QUERY}/{consumer}/{interval}"
