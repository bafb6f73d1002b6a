"""Runs the example's DAGs in this process with `dag.test()`, on an Airflow database of the demo's own.

Airflow reads its settings when it is first imported, so `prepare` comes before everything else of Airflow.
"""

import json
import os
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from types import ModuleType

    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG

DAGS = Path(__file__).parents[1] / "airflow"
_BUNDLE = "dags-folder"


def prepare(home: Path) -> None:
    """Set Airflow up in `home`."""
    os.environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
    }
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.utils.db import initdb

    initdb()
    DagBundlesManager().sync_bundles_to_db()


def connect(controller_uri: str, registry_uri: str | None = None) -> None:
    """Let Airflow's connection `pravega_default` be that to this server."""
    address = urlsplit(controller_uri)
    os.environ["AIRFLOW_CONN_PRAVEGA_DEFAULT"] = json.dumps(
        {
            "conn_type": "pravega",
            "host": address.hostname,
            "port": address.port,
            "extra": {"schema_registry_uri": registry_uri},
        }
    )


def example(name: str = "flights_delays") -> "ModuleType":
    """A module with DAGs of the examples, which are known to Airflow's database then."""
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db

    bag = BundleDagBag(dag_folder=DAGS, bundle_path=DAGS, bundle_name=_BUNDLE)
    sync_bag_to_db(bag, _BUNDLE, None)
    return import_module(name)  # found where Airflow finds it: in the folder of the DAGs


class TaskFailedError(Exception):
    """A task of a DAG run did not succeed."""


def run(dag: "DAG", logical_date: datetime, *, to_fail: frozenset[str] = frozenset(), **conf: Any) -> dict[str, Any]:
    """Run a DAG; the same logical date is the same run again. Returns the results of its tasks by their ids.

    Raises:
        TaskFailedError: other tasks failed than those that are to fail; the log says why.
    """
    dag_run: DagRun = dag.test(run_conf=conf, logical_date=logical_date)
    tasks = dag_run.get_task_instances()
    failed = [task.task_id for task in tasks if task.state != "success"]
    if to_fail != set(failed):
        wanted = f", but {', '.join(to_fail)} should have" if to_fail else ""
        raise TaskFailedError(f"{dag.dag_id}: {', '.join(failed) or 'nothing'} failed{wanted}")
    return {task.task_id: task.xcom_pull(task.task_id) for task in tasks}
