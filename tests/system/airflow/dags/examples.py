"""The examples, each once for each way in which a run starts, with streams, files and a schedule of its own.

That is what a user does who copies an example: other streams, and a schedule where there is none.
"""

import copy
import os
import tempfile
from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from unittest.mock import patch

import airflow.sdk
from airflow.sdk import DAG, Asset
from tests.system.airflow.example_ways import FOLDER, OF_PARTITIONS, Way, copy_of, is_started

# Daily, from this day to this day: one run.
ONE_DAY: dict[str, Any] = {
    "schedule": "@daily",
    "start_date": datetime(2026, 1, 1, tzinfo=UTC),
    "end_date": datetime(2026, 1, 1, tzinfo=UTC),
    "catchup": True,
}


def copied(file: Path, way: Way) -> dict[str, DAG]:
    """The DAGs of an example that one way starts."""
    dags: dict[str, DAG] = {}

    def dag(dag_id: str, **arguments: Any) -> DAG:
        names = copy_of(dag_id, way)
        # DAGs of one file may share them.
        arguments["params"] = {name: copy.copy(param) for name, param in arguments.get("params", {}).items()}
        for param in arguments["params"].values():
            if isinstance(param.value, str):
                param.value = param.value.replace("examples/", f"{names.scope}/")
        own = arguments["schedule"]
        watched = isinstance(own, list)
        if not is_started(dag_id, way):
            return DAG(names.dag_id, **arguments)
        if way is Way.ASSET and not watched:
            arguments["schedule"] = [Asset(names.asset)]
        elif way is Way.SCHEDULE and (own is None or watched):
            arguments |= ONE_DAY
        elif way is not Way.ASSET and watched:
            arguments["schedule"] = None  # else the asset starts runs, too
        dags[names.dag_id] = DAG(names.dag_id, **arguments)
        return dags[names.dag_id]

    name = f"{file.stem}_{way.value}"
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    folder = f"{os.environ['AIRFLOW_HOME']}/files/{name}"
    stream = {"ORDERS_STREAM": f"{copy_of('orders_watched', way).scope}/orders"}
    with (
        patch.object(airflow.sdk, "DAG", dag),
        patch.object(tempfile, "tempdir", folder),
        patch.dict(os.environ, stream),
    ):
        spec.loader.exec_module(module_from_spec(spec))
    return dags


for example in sorted(FOLDER.glob("*.py")):
    for each in () if example.stem in OF_PARTITIONS else Way:
        globals().update(copied(example, each))
