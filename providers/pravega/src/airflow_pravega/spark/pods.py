"""The state of a driver's pod, from what the API of Kubernetes says about it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from airflow_pravega.spark.drivers import DriverStatus
from pravega_jobs.remote.reports import WORK_VARIABLE

_SUCCEEDED: Final = "Succeeded"
_FAILED: Final = "Failed"
_PENDING: Final = "Pending"
_LONGEST_MESSAGE: Final = 2000


def status_of(pod: Mapping[str, Any]) -> DriverStatus:
    """The state of the driver in a pod: its phase, or that of the driver's container, which a sidecar can outlive."""
    about, spec, found = pod["metadata"], pod["spec"], pod.get("status", {})
    containers = spec["containers"]
    name = next((each["name"] for each in containers if _has_work(each)), containers[0]["name"])
    statuses = {each["name"]: each for each in found.get("containerStatuses", ())}
    own = statuses.get(name, {}).get("state", {})
    ended, phase = own.get("terminated"), found.get("phase") or _PENDING
    if ended is not None and phase != _FAILED:  # Spark's drivers are never restarted in their pod
        phase = _SUCCEEDED if ended.get("exitCode") == 0 else _FAILED
    is_active, state = phase not in {_SUCCEEDED, _FAILED}, phase
    if is_active and "deletionTimestamp" in about:
        state = "Terminating"
    elif phase == _PENDING and (reason := _first(_reasons_to_wait(found))):
        state = f"{phase} ({reason})"
    container = "" if len(containers) == 1 else f" --container {name}"
    return DriverStatus(
        state,
        is_active=is_active,
        has_ended_well=phase == _SUCCEEDED,
        node=spec.get("nodeName"),
        output=f"shown by kubectl logs --namespace {about['namespace']} {about['name']}{container}",
        message=_why_it_ended(found, ended) if phase == _FAILED else None,
        has_begun=phase != _PENDING or "running" in own,
    )


def _has_work(container: Mapping[str, Any]) -> bool:
    return any(each["name"] == WORK_VARIABLE for each in container.get("env", ()))


def _reasons_to_wait(found: Mapping[str, Any]) -> Iterator[str]:
    """The reasons of containers that wait, and of a pod without a node."""
    for each in (*found.get("initContainerStatuses", ()), *found.get("containerStatuses", ())):
        if waits := each.get("state", {}).get("waiting"):
            yield _named(waits)
    for each in found.get("conditions", ()):
        if each["type"] == "PodScheduled" and each["status"] == "False":
            yield _named(each)


def _why_it_ended(found: Mapping[str, Any], ended: Mapping[str, Any] | None) -> str | None:
    """The reason of the container, such as `OOMKilled`, and that of the pod, such as `Evicted`."""
    reasons = [_named(found)]
    if ended is not None:
        code = ended.get("exitCode")
        reasons.append(f"{_named(ended)} (exit code {code})".strip())
    return ". ".join(filter(None, reasons))[:_LONGEST_MESSAGE].strip() or None


def _named(what: Mapping[str, Any]) -> str:
    return ": ".join(str(what[key]).strip() for key in ("reason", "message") if what.get(key))


def _first(found: Iterator[str]) -> str | None:
    return next(filter(None, found), None)
