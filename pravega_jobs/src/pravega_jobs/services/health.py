"""The health of jobs of Flink, and of Debezium Server, by their own HTTP interfaces.

Flink: `/jobs/overview`, `/jobs/ID/checkpoints` and `/jobs/ID/exceptions` of its REST API. Debezium Server: `/q/health`
of Quarkus, which answers 503 when it is down.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from aiopravega.errors import ConfigurationError, ProtocolError
from pravega_jobs.landing.postgres_sql import transaction
from pravega_jobs.services.http_json import HttpServer

_RUNNING: Final = "RUNNING"
# The states that Flink's jobs never leave.
_ENDED: Final = frozenset({"FINISHED", "CANCELED", "FAILED"})
_MILLISECONDS: Final = 1000
# Statuses of `/q/health`: all is up, or something is down.
_HEALTH: Final = (200, 503)
_SLOT: Final = """
select active, pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(confirmed_flush_lsn, restart_lsn))::bigint, wal_status
from pg_replication_slots where slot_name = %s
"""


@dataclass(frozen=True, slots=True)
class JobHealth:
    """A job at some moment.

    Attributes:
        state: in the words of the program, such as `RUNNING`, `FAILING`, `UP`, `DOWN`, or `MISSING`.
        is_running: the job is at work.
        since: the time of this state's beginning; None: not known.
        committed_at: the time of the last checkpoint; None: there is none, or the program has none.
        failed_commits: checkpoints that have failed, since the job was started.
        reason: the reason why it does not run, or the last failure; None: none is known.
        details: more that the program says, by name.
    """

    state: str
    is_running: bool
    since: datetime | None = None
    committed_at: datetime | None = None
    failed_commits: int = 0
    reason: str | None = None
    details: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SlotHealth:
    """A replication slot of PostgreSQL: whether it is read, the bytes of log behind it, and the state of that log."""

    is_active: bool
    lag_bytes: int
    wal_status: str | None


def flink_health(server: HttpServer, job: str) -> JobHealth:
    """The health of a job of Flink, by its name or its id.

    Of several with one name, the one that has not ended; if all have ended, the one that was started last.

    Raises:
        ConfigurationError: several jobs of this name have not ended.
        PravegaError: the server cannot be asked.
    """
    _, overview = server.get("/jobs/overview")
    jobs = [each for each in _of(overview, "jobs", list) if job in (each.get("name"), each.get("jid"))]
    if not jobs:
        known = ", ".join(sorted(str(each.get("name")) for each in overview["jobs"])) or "no job"
        return JobHealth("MISSING", False, reason=f"the cluster has {known}, and not {job!r}")
    alive = [each for each in jobs if each.get("state") not in _ENDED]
    if len(alive) > 1:
        ids = ", ".join(sorted(f"{each.get('jid')} ({each.get('state')})" for each in alive))
        raise ConfigurationError(f"{len(alive)} jobs of {server.uri} are called {job!r}: {ids}. Give the id of one")
    newest = max(alive or jobs, key=lambda each: int(each.get("start-time", 0)))
    jid, state = str(newest["jid"]), str(newest["state"])
    _, checkpoints = server.get(f"/jobs/{jid}/checkpoints")
    _, exceptions = server.get(f"/jobs/{jid}/exceptions")
    completed = (checkpoints.get("latest") or {}).get("completed") or {}
    counts = checkpoints.get("counts") or {}
    return JobHealth(
        state,
        state == _RUNNING,
        _moment(newest.get("start-time")),
        _moment(completed.get("latest_ack_timestamp")),
        int(counts.get("failed", 0)),
        _first_line(exceptions.get("root-exception") or _newest_exception(exceptions)),
        {
            "job_id": jid,
            **({"checkpoint": str(completed["external_path"])} if completed.get("external_path") else {}),
        },
    )


def debezium_health(server: HttpServer) -> JobHealth:
    """The health of a Debezium Server, by Quarkus: all its checks are up, or the names of those that are not.

    Raises:
        PravegaError: the server cannot be asked.
    """
    _, found = server.get("/q/health", _HEALTH)
    state, checks = _of(found, "status", str), found.get("checks") or []
    down = [str(each.get("name")) for each in checks if each.get("status") != "UP"]
    reason = f"these of its checks are down: {', '.join(down)}" if down else None
    return JobHealth(
        state, state == "UP", reason=reason, details={str(c.get("name")): str(c.get("status")) for c in checks}
    )


def slot_health(dsn: str, slot: str) -> SlotHealth | None:
    """The state of a replication slot of PostgreSQL; None: there is no such slot.

    Raises:
        LandingError: the database cannot be reached, or refuses.
    """
    with transaction(dsn) as cursor:
        cursor.execute(_SLOT, [slot])
        row = cursor.fetchone()
    return None if row is None else SlotHealth(bool(row[0]), int(row[1] or 0), row[2])


def _of(found: Any, name: str, kind: type) -> Any:
    value = found.get(name) if isinstance(found, Mapping) else None
    if not isinstance(value, kind):
        raise ProtocolError(f"the answer has no {name!r}: is it the right address?")
    return value


def _moment(milliseconds: Any) -> datetime | None:
    if not isinstance(milliseconds, int) or milliseconds <= 0:
        return None
    return datetime.fromtimestamp(milliseconds / _MILLISECONDS, UTC)


def _newest_exception(exceptions: Mapping[str, Any]) -> str | None:
    """The newest failure by Flink 1.13 and newer, which leave `root-exception` out at last."""
    entries = (exceptions.get("exceptionHistory") or {}).get("entries") or []
    return str(entries[0].get("stacktrace") or entries[0].get("exceptionName")) if entries else None


def _first_line(text: str | None) -> str | None:
    return text.splitlines()[0] if text else None
