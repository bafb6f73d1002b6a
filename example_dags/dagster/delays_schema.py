"""A change of a schema on its way through a gate: the asset that uses it is made only if it may follow the old ones.

The gate is a blocking check of the stream's external asset, on which the asset `schema_in_use` depends. The file of the
candidate is named by `DELAYS_SCHEMA`; address and credentials come from the environment.
"""

import os
from pathlib import Path

import dagster as dg

from dagster_pravega import SchemaRegistryResource, build_schema_gate, pravega_stream_spec

SCHEMAS = Path(__file__).parents[1] / "schemas"
CANDIDATE = Path(os.environ.get("DELAYS_SCHEMA", SCHEMAS / "delays-longest.json"))

delays = pravega_stream_spec("examples/delays", description="delays per carrier and day, as JSON")
delays_gate = build_schema_gate(delays, stream="examples/delays", candidate=CANDIDATE, declared_only=True)


@dg.asset(deps=[delays])
def schema_in_use() -> dg.MaterializeResult[None]:
    """Stands for the asset that writes by the new schema."""
    return dg.MaterializeResult(metadata={"schema": dg.MetadataValue.path(CANDIDATE)})


defs = dg.Definitions(
    assets=[delays, schema_in_use],
    asset_checks=[delays_gate],
    resources={"schema_registry": SchemaRegistryResource()},
)

if __name__ == "__main__":
    job = defs.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(raise_on_error=False)
    raise SystemExit(0 if result.success else 1)
