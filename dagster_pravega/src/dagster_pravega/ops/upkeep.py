"""The job that keeps a table up: small files put together, old snapshots and files removed."""

from datetime import timedelta

import dagster as dg

from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.ops.maintenance import job_of, op_name
from dagster_pravega.resources.table_keys import TableKeys
from pravega_jobs.landing.store_access import accessing
from pravega_jobs.upkeep.keep_up import upkeep_of
from pravega_jobs.upkeep.rules import KEEP, TARGET_FILE_BYTES, UpkeepRules


def build_table_upkeep(
    table: str,
    *,
    catalog_key: str | None = None,
    store_key: str | None = None,
    name: str = "pravega_table_upkeep",
    target_file_bytes: int = TARGET_FILE_BYTES,
    keep: timedelta = KEEP,
    dry_run: bool = False,
    retry_policy: dg.RetryPolicy | None = None,
) -> dg.JobDefinition:
    """A job of one op that keeps a table of Delta or Iceberg up, beside its landings and merges.

    It may run at any time, by a schedule such as every hour. Small files of frequent landings are put together,
    snapshots that were replaced before `keep` expire, and files that nobody needs are removed. Rows and holdings stay.
    The output's metadata is the report, with numbers of files, snapshots and bytes.

    Args:
        table: `delta:/folder`, `delta:s3://bucket/path` or `iceberg:catalog/namespace.table`.
        catalog_key: of the `IcebergCatalog` that has the table, which is named as `namespace.table` then.
        store_key: of the `ObjectStore` that has the table's files.
        name: of the job, and of its op.
        target_file_bytes: the size that files are put together to.
        keep: what was a part of the table within this time stays readable; longer than the longest job that reads the
            table, or that writes it without this package.
        dry_run: change nothing, and report what would be done now.
        retry_policy: for retryable failures; by default two retries after 30 seconds.

    Raises:
        ConfigurationError: the text names no table, the table's kind has no upkeep, or a setting cannot work.
    """
    keys = TableKeys(catalog=catalog_key, store=store_key)
    upkeep_of(keys.check(table))
    UpkeepRules(target_file_bytes, keep)
    policy = dg.RetryPolicy(max_retries=2, delay=30) if retry_policy is None else retry_policy

    @dg.op(name=op_name(name), retry_policy=policy, out=dg.Out(dict), required_resource_keys=keys.required)
    def upkeep(context: dg.OpExecutionContext) -> dg.Output[dict[str, object]]:
        with failing_for_good(), accessing(keys.access(context.resources)):
            keep_up = upkeep_of(keys.table(table, context.resources))
            done = keep_up(UpkeepRules(target_file_bytes, keep, dry_run)).to_json()
        return dg.Output(done, metadata={"pravega/upkeep": dg.MetadataValue.json(done)})

    return job_of(upkeep, name, f"Puts small files of {table} together, and removes what nobody needs.")
