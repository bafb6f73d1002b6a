"""Names of a task's work: the same for every try, and others for every run.

The try number is never part of a name: a second try has to be recognised as the same work.
"""

import re
from datetime import UTC
from typing import Any, Final

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import Context

from aiopravega.errors import ConfigurationError

# No slash: it separates the deployment from the consumer.
_DEPLOYMENT: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_AIRFLOW: Final = "airflow"
_PARTITION: Final = "partition "
# `airflow tasks test` makes a run with such an id, and deletes it afterwards.
_TEMPORARY: Final = "__airflow_temporary_run_"
# Texts that a template gives for a parameter without a value.
_NO_NAMES: Final = ("", "None")


def records_nothing(context: Context) -> bool:
    """True for a task of a run that is deleted after it, as `airflow tasks test` makes one.

    A run of `dag.test()` stays in Airflow's database, and is a run as others are. `[pravega] record_tests` has tests
    recorded, too.
    """
    is_temporary = str(context["ti"].run_id).startswith(_TEMPORARY)
    return is_temporary and not conf.getboolean("pravega", "record_tests", fallback=False)


def consumer_name(context: Context) -> str:
    """The task's name, the same in every run: `dag/task`, or `dag/task/index` for a mapped one."""
    ti = context["ti"]
    mapped = ti.map_index is not None and ti.map_index >= 0
    return f"{ti.dag_id}/{ti.task_id}" + (f"/{ti.map_index}" if mapped else "")


def chain_name(context: Context, given: str | None) -> str:
    """The name of the task's chain of ranges in the cut ledger: `given`, or the name of the task.

    Raises:
        ConfigurationError: `given` is empty, or the deployment's name is not valid.
    """
    return deployed_name(given) if given is not None else f"{_deployment_prefix()}{consumer_name(context)}"


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
        return f"{_PARTITION}{partition}"
    if run.logical_date is not None:
        return str(run.logical_date.isoformat())
    return str(run.run_id)


def run_order(context: Context) -> str:
    """The position of the run among the runs that wait for the same chain, as a text that sorts: date, then id."""
    run, ti = context["dag_run"], context["ti"]
    date = (run.logical_date or run.run_after).astimezone(UTC)
    return f"{date.isoformat(timespec='microseconds')} {run.run_id} {ti.dag_id}/{ti.task_id}/{ti.map_index}"


def write_name(context: Context) -> str:
    """The default write id of a task: its write in one run is done once."""
    return f"{_AIRFLOW}/{consumer_name(context)}/{interval_name(context)}"


def dag_of(author: str, interval: str) -> str | None:
    """The id of the DAG whose run has recorded an interval, by the run's `write_name`; None if it was not a run."""
    if not author.startswith(f"{_AIRFLOW}/") or not author.endswith(f"/{interval}"):
        return None
    return author.split("/")[1]


def partition_of(interval: str) -> str | None:
    """The partition key of the run that has an interval; None if the run has none."""
    return interval.removeprefix(_PARTITION) if interval.startswith(_PARTITION) else None
