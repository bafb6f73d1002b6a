"""A change of a schema on its way through a gate: what uses the new schema runs only if it may follow the old ones.

The stream of delays has JSON events, whose schemas the registry itself never compares. The first schema is registered
if it is not there; the gate then holds the one of the parameter `schema` against what the stream has, and registers it
if it passes. If it does not, the log says which fields are in the way, and the tasks after the gate do not run.

It reaches Pravega by the connection `pravega_default`, whose extra `schema_registry_uri` names the registry.
"""

from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, task

from airflow_pravega.operators.schema import PravegaRegisterSchemaOperator, PravegaSchemaGateOperator

SCHEMAS = Path(__file__).parents[1] / "schemas"

with DAG(
    "delays_schema",
    schedule=None,
    doc_md=__doc__,
    params={
        "delays": Param("examples/delays", type="string", description="stream of delays per carrier and day"),
        "schema": Param(str(SCHEMAS / "delays-longest.json"), type="string", description="file of the new schema"),
    },
) as delays_schema:
    first = PravegaRegisterSchemaOperator(
        task_id="first", stream="{{ params.delays }}", candidate=str(SCHEMAS / "delays.json")
    )
    gate = PravegaSchemaGateOperator(
        task_id="gate",
        stream="{{ params.delays }}",
        candidate="{{ params.schema }}",
        declared_only=True,
        register=True,
    )

    @task
    def use(report: Any) -> Any:
        """Stands for the job that writes by the new schema; returns its version."""
        print(report["summary"])
        return report["registered"]

    first >> gate
    use(gate.output)
