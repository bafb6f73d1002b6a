"""A job that maintains a commit ledger: finishes what drivers that died left, removes old records."""

import dagster as dg

from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.ops.one_op import job_of, op_name
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.maintenance import maintain_ledger, named_ledger


def build_ledger_maintenance(
    ledger: str | None = None,
    *,
    name: str = "pravega_ledger_maintenance",
    expire: bool = False,
    fail_on_half_visible: bool = True,
    resource_key: str = "pravega",
    retry_policy: dg.RetryPolicy | None = None,
) -> dg.JobDefinition:
    """A job of one op that finishes the exactly-once writes that a commit ledger has as decided and not done.

    It may run at any time, by a schedule such as every five minutes. The output's metadata is the report: the names of
    writes that were finished now, of those of which nothing is in the stream, of those that are half visible, of those
    that could not be finished now, and the number of records that were removed.

    Args:
        ledger: `scope/table` of the ledger, or the scope of one with the default name; by default that of the
            resource's scope.
        name: of the job, and of its op.
        expire: whether to remove the records of writes that need not be remembered any more.
        fail_on_half_visible: whether the run fails when a write is half visible; otherwise there is a warning.
        resource_key: of the `PravegaResource`.
        retry_policy: for failures that can pass; by default two retries after 30 seconds.
    """
    policy = dg.RetryPolicy(max_retries=2, delay=30) if retry_policy is None else retry_policy

    @dg.op(name=op_name(name), required_resource_keys={resource_key}, retry_policy=policy, out=dg.Out(dict))
    def maintain(context: dg.OpExecutionContext) -> dg.Output[dict[str, object]]:
        resource: PravegaResource = getattr(context.resources, resource_key)
        with failing_for_good():
            client = resource.client
            scope, table = named_ledger(ledger, resource.get_config())
            report = client.run(maintain_ledger(client.asynchronous, scope, table, expire=expire))
            if report.failed or fail_on_half_visible:
                report.check()
        found = report.to_json()
        return dg.Output(found, metadata={"pravega/maintenance": dg.MetadataValue.json(found)})

    return job_of(maintain, name, "Finishes the exactly-once writes that nobody has finished.")
