"""The names of a task's work: the same for every try, a new one for every run.

The try number is never part of a name: a second try has to be recognised as the same work.
"""

from airflow.sdk import Context


def consumer_name(context: Context) -> str:
    """The task, the same in every run: `dag/task`, and the index of a mapped one."""
    ti = context["ti"]
    mapped = ti.map_index is not None and ti.map_index >= 0
    return f"{ti.dag_id}/{ti.task_id}" + (f"/{ti.map_index}" if mapped else "")


def interval_name(context: Context) -> str:
    """The run, for all its tasks: its partition key, else its logical date, else its id (runs that assets started)."""
    run = context["dag_run"]
    if run.partition_key is not None:
        return f"partition {run.partition_key}"
    if run.logical_date is not None:
        return run.logical_date.isoformat()
    return run.run_id


def write_name(context: Context) -> str:
    """The default write id of a task: what it writes in one run is written once."""
    return f"airflow/{consumer_name(context)}/{interval_name(context)}"
