"""DAGs of tests in Airflow's database, without which `dag.test()` runs none."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from airflow.sdk import DAG

BUNDLE: Final = "dags-folder"
# Airflow 3.2 has moved them, and has them know the bundle's name.
_MOVED: Final = find_spec("airflow.dag_processing.dagbag") is not None
_dag_bags = import_module("airflow.dag_processing.dagbag" if _MOVED else "airflow.models.dagbag")
_BUNDLE_NAME: Final = {"bundle_name": BUNDLE} if _MOVED else {}


def store(dag: DAG, folder: Path) -> None:
    """Store a DAG as one of the folder of Airflow's DAGs."""
    bag = _dag_bags.BundleDagBag(dag_folder=folder, bundle_path=folder, **_BUNDLE_NAME)
    bag.bag_dag(dag)
    _dag_bags.sync_bag_to_db(bag, BUNDLE, None)
