"""Jobs of Flink and Debezium Servers as assets, with a check of their health.

Dagster does not run them. The asset is between the streams that the program reads and those that it writes. Its check
says whether the program runs, how far it is behind, what it committed last, and how it is started again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from aiopravega import StreamName
from aiopravega.bounded import each
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.intervals.reports.stream_state import look_at
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.checks.group_lag import group_metadata, why_stopped
from dagster_pravega.metadata.measures import LAG_BYTES_KEY
from dagster_pravega.metadata.spec import AssetLike, asset_key_of
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.services import HttpServiceResource
from dagster_pravega.resources.stores import dsn_of
from pravega_jobs.services.health import JobHealth, debezium_health, flink_health, slot_health

# Streams that are asked side by side for their last writes.
_AT_ONCE = 32


@dataclass(slots=True)
class _Verdict:
    """The faults of a program, as sentences, and the metadata of its check."""

    wrong: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)

    def add(self, health: JobHealth) -> None:
        """Take in the health that the program reports."""
        self.metadata["state"] = health.state
        self.metadata |= health.details or {}
        if health.since is not None:
            self.metadata["running_since"] = dg.MetadataValue.timestamp(health.since)
        if health.reason is not None:
            self.metadata["reason"] = health.reason
        if not health.is_running:
            self.wrong.append(f"it is {health.state}" + (f": {health.reason}" if health.reason else ""))

    def commit(self, committed_at: datetime | None, most: timedelta | None, what: str) -> None:
        """Take in the time of the last commit, and judge it by a limit."""
        if committed_at is not None:
            self.metadata["last_commit"] = dg.MetadataValue.timestamp(committed_at)
            self.metadata["last_commit_age_seconds"] = (datetime.now(UTC) - committed_at).total_seconds()
        if most is not None and (committed_at is None or datetime.now(UTC) - committed_at > most):
            since = "ever" if committed_at is None else f"since {committed_at.isoformat(timespec='seconds')}"
            self.wrong.append(f"no {what} {since}, which is more than {most} ago")

    def lag(self, size: int, most: int | None) -> None:
        """Take in bytes that wait, and judge them by a limit."""
        self.metadata[LAG_BYTES_KEY] = size
        if most is not None and size > most:
            self.wrong.append(f"it is {size:,} bytes behind, more than {most:,}")


def build_flink_job(
    asset: str | Sequence[str] | dg.AssetKey,
    *,
    job: str,
    reads: Sequence[AssetLike] = (),
    group: str | None = None,
    max_lag_bytes: int | None = None,
    max_commit_age: timedelta | None = None,
    restart: str | None = None,
    group_name: str | None = None,
    flink_key: str = "flink",
    resource_key: str = "pravega",
) -> dg.Definitions:
    """A job of Flink as an external asset of the kind `flink`, with a check `health`.

    The check asks Flink's REST API, and Pravega for the reader group. It fails, as an error, if Flink cannot be asked,
    or the job is not there or not running, if its last checkpoint is too old, and if its reader group is too far
    behind, has lost events, or waits for a checkpoint by hand. Its metadata are the state, the last failure, the last
    checkpoint, the checkpoints that failed, the lag, and the command by which the job is started again. Merge the
    result with the other definitions by `Definitions.merge`.

    Args:
        asset: key of the asset. Streams that the job writes name it as a dependency: `deps=[…]` of
            `pravega_stream_spec`.
        job: name or id of the job. Of several with one name, the one that has not ended counts; if all have,
            the one that was started last; the check fails if several have not ended.
        reads: the streams that it reads, as assets or keys.
        group: its reader group, `scope/group`; None: its lag is not known.
        max_lag_bytes: the most bytes that the group may be behind.
        max_commit_age: the greatest age of the last checkpoint.
        restart: the command that starts the job again, for people: the check shows it, and does not run it.
        group_name: group of the asset.
        flink_key: key of the `HttpServiceResource` of the Flink cluster.
        resource_key: key of the `PravegaResource`, which is needed with `group`.

    Raises:
        ConfigurationError: the group is not `scope/group`, or there is a limit of bytes without a group.
    """
    of = None if group is None else StreamName.parse(group)
    if of is None and max_lag_bytes is not None:
        raise ConfigurationError("max_lag_bytes needs group: the reader group of the job, as scope/group")

    def judge(resources: Any, verdict: _Verdict) -> None:
        service: HttpServiceResource = getattr(resources, flink_key)
        health = flink_health(service.get_server(), job)
        verdict.add(health)
        verdict.metadata["failed_commits"] = health.failed_commits
        verdict.commit(health.committed_at, max_commit_age, "checkpoint")
        if of is not None:
            pravega: PravegaResource = getattr(resources, resource_key)
            described = pravega.client.describe_reader_group(of.scope, of.stream)
            verdict.metadata |= group_metadata(described)
            verdict.lag(described.lag_bytes, max_lag_bytes)
            stopped = why_stopped(described)
            if stopped is not None:
                verdict.wrong.append(f"its reader group {of}: {stopped}")

    keys = {flink_key, *(() if of is None else (resource_key,))}
    return _definitions(asset, "flink", f"Job {job!r} of Flink", reads, group_name, restart, keys, judge)


def build_debezium_server(
    asset: str | Sequence[str] | dg.AssetKey,
    *,
    streams: Sequence[str] = (),
    reads: Sequence[AssetLike] = (),
    slot: str | None = None,
    database_key: str | None = None,
    max_lag_bytes: int | None = None,
    max_commit_age: timedelta | None = None,
    restart: str | None = None,
    group_name: str | None = None,
    debezium_key: str = "debezium",
    resource_key: str = "pravega",
) -> dg.Definitions:
    """A Debezium Server as an external asset of the kind `debezium`, with a check `health`.

    The check asks Debezium's own health by HTTP, Pravega for the last writes to its streams, and PostgreSQL for the
    replication slot. It fails, as an error, if Debezium cannot be asked, or is not up, if nothing was written to its
    streams for too long, and if the slot is missing or not read, too far behind, or has lost its log. Its metadata are
    the state, the last write, the lag of the slot, and the command by which Debezium is started again. Merge the result
    with the other definitions by `Definitions.merge`.

    Args:
        asset: key of the asset. The streams that it writes name it as a dependency: `deps=[…]` of
            `pravega_stream_spec`.
        streams: `scope/stream` that it writes; the last write to one of them counts. With heartbeats, give their stream
            as well, so that a database in which nothing changes is not taken for one that is not read.
        reads: assets of the database that it reads.
        slot: the replication slot of PostgreSQL, `debezium.source.slot.name`.
        database_key: key of the `LandingDatabase` of the PostgreSQL with the slot.
        max_lag_bytes: the most bytes of the database's log that the slot may be behind.
        max_commit_age: the longest time without a write to the streams.
        restart: the command that starts Debezium again, for people: the check shows it, and does not run it.
        group_name: group of the asset.
        debezium_key: key of the `HttpServiceResource` of the Debezium Server.
        resource_key: key of the `PravegaResource`, which is needed with `streams`.

    Raises:
        ConfigurationError: a stream is not `scope/stream`; a slot has no database, or a limit nothing to be judged.
    """
    written = [StreamName.parse(stream) for stream in streams]
    if (slot is None) != (database_key is None):
        raise ConfigurationError("a slot needs its database, and the other way round: give slot and database_key")
    if max_lag_bytes is not None and slot is None:
        raise ConfigurationError("max_lag_bytes needs slot and database_key: it is the lag of the replication slot")
    if max_commit_age is not None and not written:
        raise ConfigurationError("max_commit_age needs streams: it is the time without a write to them")

    def judge(resources: Any, verdict: _Verdict) -> None:
        service: HttpServiceResource = getattr(resources, debezium_key)
        verdict.add(debezium_health(service.get_server()))
        if written:
            pravega: PravegaResource = getattr(resources, resource_key)
            client = pravega.client.asynchronous
            states = pravega.client.run(each(lambda stream: look_at(client, stream), written, _AT_ONCE))
            verdict.commit(max(state.written_at for state in states), max_commit_age, "write to its streams")
        dsn = dsn_of(resources, database_key)
        if dsn is not None and slot is not None:
            found = slot_health(dsn, slot)
            if found is None:
                verdict.wrong.append(f"the database has no replication slot {slot!r}")
                return
            verdict.metadata |= {"slot_is_read": found.is_active, "slot_log": found.wal_status or "not known"}
            verdict.lag(found.lag_bytes, max_lag_bytes)
            if not found.is_active:
                verdict.wrong.append(f"nobody reads the replication slot {slot!r}, and the database keeps its log")
            if found.wal_status == "lost":
                verdict.wrong.append(f"the database has removed the log of the replication slot {slot!r}")

    keys = {debezium_key, *((resource_key,) if written else ()), *(() if database_key is None else (database_key,))}
    return _definitions(asset, "debezium", "Debezium Server", reads, group_name, restart, keys, judge)


def _definitions(
    asset: str | Sequence[str] | dg.AssetKey,
    kind: str,
    what: str,
    reads: Sequence[AssetLike],
    group_name: str | None,
    restart: str | None,
    keys: set[str],
    judge: Callable[[Any, _Verdict], None],
) -> dg.Definitions:
    """The asset, and its check: by a function that adds to a verdict, as far as it comes."""
    again = {} if restart is None else {"restart": dg.MetadataValue.md(f"```\n{restart}\n```")}
    spec = dg.AssetSpec(
        dg.AssetKey.from_coercible(asset),
        deps=[asset_key_of(one) for one in reads],
        description=what,
        group_name=group_name,
        kinds={kind},
        metadata=again,
    )

    @dg.asset_check(
        asset=checked_key(spec),
        name="health",
        description=f"{what}: does it run, and how far is it behind?",
        required_resource_keys=keys,
    )
    def health(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        verdict = _Verdict()
        try:
            judge(context.resources, verdict)
        except PravegaError as error:  # an outage is what the check is for
            verdict.wrong.append(f"{type(error).__name__}: {error}")
        how = f". To start it again: {restart}" if verdict.wrong and restart else ""
        return dg.AssetCheckResult(
            passed=not verdict.wrong,
            severity=dg.AssetCheckSeverity.ERROR,
            description=("; ".join(verdict.wrong) or f"{what} runs") + how,
            metadata={**verdict.metadata, **again},
        )

    return dg.Definitions(assets=[spec], asset_checks=[health])
