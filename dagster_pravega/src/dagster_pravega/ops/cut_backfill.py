"""A job that divides the range between two cuts into partitions, so that Dagster can backfill them.

The plan is in the cut ledger, in the form of `pravega backfill` and of Airflow's backfill operator: each of the three
can continue a plan of the others.
"""

from typing import Any

import dagster as dg
from pydantic import Field

from aiopravega.errors import ConfigurationError
from aiopravega.intervals import plan_parts
from aiopravega.intervals.plans.backfill import record_plan
from aiopravega.positions import parse_position
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import BYTES_KEY, CONSUMER_KEY
from dagster_pravega.metadata.secured import STRICT
from dagster_pravega.metadata.spec import STREAM_KEY
from dagster_pravega.ops.maintenance import job_of, op_name
from dagster_pravega.partitions.range_keys import keys_of, known_keys
from dagster_pravega.resources.resource import PravegaResource


class CutBackfillConfig(dg.Config):
    """The two cuts, and the number or the size of the partitions between them."""

    model_config = STRICT

    start: str = Field(default="earliest", description="text of a StreamCut, or earliest or latest")
    end: str = Field(default="latest", description="text of a StreamCut, or earliest or latest")
    parts: int | None = Field(default=None, description="number of partitions; default one")
    max_bytes: int | None = Field(default=None, description="or the approximate bytes of each")


def build_cut_backfill(
    name: str, *, partitions_def: StreamCutPartitions, resource_key: str = "pravega"
) -> dg.JobDefinition:
    """A job that plans a backfill between two cuts, and adds its intervals as partitions: `1 of 8`, `2 of 8` and so on.

    The run config of the op has the two cuts, and `parts` or `max_bytes`. Then launch a backfill of an asset with these
    partitions, from its page. Only this backfill may use the consumer of the partitions: the job fails if the consumer
    has other ranges, such as ranges of a sensor. If the consumer has a plan already, also one of Airflow, this plan
    becomes the partitions.

    Args:
        name: of the job, and of its op.
        partitions_def: of the assets; it has the stream and the consumer.
        resource_key: of the `PravegaResource`.
    """
    stream, consumer = partitions_def.stream, partitions_def.consumer

    @dg.op(name=op_name(name), required_resource_keys={resource_key}, out=dg.Out(list))
    def plan(context: dg.OpExecutionContext, config: CutBackfillConfig) -> dg.Output[list[str]]:
        resource: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            client = resource.client.asynchronous
            start, end = (parse_position(text, stream) for text in (config.start, config.end))
            planning = plan_parts(
                client, stream, consumer, start=start, end=end, parts=config.parts, max_bytes=config.max_bytes
            )
            planned = resource.client.run(planning)
            if not planned.intervals:
                raise ConfigurationError(f"there is nothing in {stream} between {config.start} and {config.end}")
            ledger = client.cut_ledger(stream.scope)
            by = f"dagster run {context.run_id}"
            records = resource.client.run(record_plan(ledger, planned, by=by))
            known = {} if partitions_def.ahead is None else known_keys(partitions_def, context.instance)
            keys = resource.client.run(keys_of(client, partitions_def, records, known, wait=False))
        added = partitions_def.build_add_request(keys)
        context.instance.add_dynamic_partitions(added.partitions_def_name, added.partition_keys)
        metadata: dict[str, Any] = {
            STREAM_KEY: str(stream),
            CONSUMER_KEY: consumer,
            BYTES_KEY: planned.size,
            "pravega/partitions": len(keys),
            "pravega/not_done": sum(not record.is_done for record in records),
        }
        return dg.Output(keys, metadata=metadata)

    return job_of(plan, name, f"Divides a part of {stream} into partitions of {consumer!r}.")
