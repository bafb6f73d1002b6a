"""The names of a task's work: the same for every try, a new one for every run.

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
# What a template gives for a parameter that has no value.
_NO_NAMES: Final = ("", "None")


def consumer_name(context: Context) -> str:
    """The task, the same in every run: `dag/task`, and the index of a mapped one."""
    ti = context["ti"]
    mapped = ti.map_index is not None and ti.map_index >= 0
    return f"{ti.dag_id}/{ti.task_id}" + (f"/{ti.map_index}" if mapped else "")


def chain_name(context: Context, given: str | None) -> str:
    """The name of the task's chain of ranges in the cut ledger: `given`, or that of the task.

    Raises:
        ConfigurationError: the name is missing, or the deployment's cannot be one.
    """
    return deployed_name(given) if given is not None else f"{_deployment_prefix()}{consumer_name(context)}"


def deployed_name(given: str) -> str:
    """The name of a chain of ranges in the cut ledger, as it is given to sensors and triggers.

    Before it comes the name of this deployment, if the configuration has one (`[pravega] deployment`), so that two
    deployments with the same DAGs have chains of their own. A given name that begins with it already stays as it is.

    Raises:
        ConfigurationError: it is not a name, or the deployment's cannot be one.
    """
    check_consumer(given)
    prefix = _deployment_prefix()
    return given if given.startswith(prefix) else f"{prefix}{given}"


def check_consumer(given: str) -> None:
    """Check the name of a chain of ranges, as it is given.

    Raises:
        ConfigurationError: it is not a name.
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
    """The run, for all its tasks: its partition key, else its logical date, else its id (runs that assets started)."""
    return interval_of_run(context["dag_run"])


def interval_of_run(run: Any) -> str:
    """The same of a run, as the Task SDK or Airflow's database has it."""
    partition = getattr(run, "partition_key", None)  # runs have one from Airflow 3.2 on
    if partition is not None:
        return f"{_PARTITION}{partition}"
    if run.logical_date is not None:
        return str(run.logical_date.isoformat())
    return str(run.run_id)


def run_order(context: Context) -> str:
    """The position of the run among those that wait for the same chain, as a text that sorts: its date, then its id."""
    run, ti = context["dag_run"], context["ti"]
    date = (run.logical_date or run.run_after).astimezone(UTC)
    return f"{date.isoformat(timespec='microseconds')} {run.run_id} {ti.dag_id}/{ti.task_id}/{ti.map_index}"


def write_name(context: Context) -> str:
    """The default write id of a task: what it writes in one run is written once."""
    return f"{_AIRFLOW}/{consumer_name(context)}/{interval_name(context)}"


def dag_of(author: str, interval: str) -> str | None:
    """The DAG whose run has recorded an interval, by its `write_name`; None if it was something else."""
    if not author.startswith(f"{_AIRFLOW}/") or not author.endswith(f"/{interval}"):
        return None
    return author.split("/")[1]


def partition_of(interval: str) -> str | None:
    """The partition key of the run that an interval is of; None if that has none."""
    return interval.removeprefix(_PARTITION) if interval.startswith(_PARTITION) else None
