"""Jobs of one op, and the job that maintains a commit ledger: it finishes writes of dead drivers, removes old records.

Dagster needs different names for a job and its op; users see both under the job's name.
"""

import dagster as dg

from dagster_pravega.metadata.failures import failing_for_good
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

    It may run at any time, by a schedule such as every five minutes. The output's metadata is the report. It has the
    names of writes that were finished now, that have no event in the stream, that are half visible, and that could not
    be finished now; and the number of records that were removed.

    Args:
        ledger: `scope/table` of the ledger, or the scope of a ledger with the default name; by default the ledger of
            the resource's scope.
        name: of the job, and of its op.
        expire: remove the records of writes that no run can repeat any more.
        fail_on_half_visible: fail the run when a write is half visible; otherwise there is a warning.
        resource_key: of the `PravegaResource`.
        retry_policy: for retryable failures; by default two retries after 30 seconds.
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
        content = report.to_json()
        return dg.Output(content, metadata={"pravega/maintenance": dg.MetadataValue.json(content)})

    return job_of(maintain, name, "Finishes exactly-once writes whose drivers died, and removes old records.")


def op_name(job: str) -> str:
    """The name of the op's definition in a job of one op."""
    return f"{job}_op"


def job_of(op: dg.OpDefinition, name: str, description: str) -> dg.JobDefinition:
    """A job of one op; pages and run config show both as `name`."""

    @dg.job(name=name, description=description)
    def of_one_op() -> None:
        op.alias(name)()

    return of_one_op
