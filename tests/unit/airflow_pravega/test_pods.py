"""The states of drivers in pods, as the API of Kubernetes describes them."""

import pytest

from airflow_pravega.spark.drivers import DriverStatus
from airflow_pravega.spark.pods import status_of
from pravega_jobs.remote.reports import WORK_VARIABLE

OWN = {
    "name": "spark-kubernetes-driver",
    "env": [{"name": "A", "value": "b"}, {"name": WORK_VARIABLE, "value": "e30="}],
}
SIDECAR = {"name": "istio-proxy"}


def pod(phase=None, containers=(OWN,), about=None, node=None, **status):
    spec = {"containers": list(containers)} | ({} if node is None else {"nodeName": node})
    found = status if phase is None else {"phase": phase, **status}
    return {"metadata": {"name": "job-driver", "namespace": "jobs", **(about or {})}, "spec": spec, "status": found}


def container(name=OWN["name"], **state):
    return {"name": name, "state": state}


def ended(code, **more):
    return container(terminated={"exitCode": code, **more})


@pytest.mark.parametrize(
    ("given", "shown", "is_active", "is_well", "has_begun"),
    [
        (pod(), "Pending", True, False, False),
        (pod("Pending", node="one"), "Pending on one", True, False, False),
        (pod("Running", node="one"), "Running on one", True, False, True),
        (pod("Running", containerStatuses=[container(running={})]), "Running", True, False, True),
        (pod("Succeeded", containerStatuses=[ended(0)]), "Succeeded", False, True, True),
        (pod("Failed", containerStatuses=[ended(1)]), "Failed", False, False, True),
        (pod("Unknown"), "Unknown", True, False, True),
        (pod("Running", about={"deletionTimestamp": "2026"}), "Terminating", True, False, True),
        (pod("Succeeded", about={"deletionTimestamp": "2026"}), "Succeeded", False, True, True),
        # A sidecar outlives the driver.
        (pod("Running", (SIDECAR, OWN), containerStatuses=[ended(0)]), "Succeeded", False, True, True),
        (pod("Running", (SIDECAR, OWN), containerStatuses=[ended(1)]), "Failed", False, False, True),
        (
            pod("Running", (SIDECAR, OWN), containerStatuses=[container("istio-proxy", terminated={"exitCode": 0})]),
            "Running",
            True,
            False,
            True,
        ),
    ],
)
def test_the_phase_of_a_pod_is_the_state_of_its_driver(given, shown, is_active, is_well, has_begun):
    found = status_of(given)
    assert (str(found), found.is_active, found.has_ended_well, found.has_begun) == (
        shown,
        is_active,
        is_well,
        has_begun,
    )


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (
            {"containerStatuses": [container(waiting={"reason": "ImagePullBackOff", "message": "Back-off\n"})]},
            "Pending (ImagePullBackOff: Back-off)",
        ),
        (
            {"initContainerStatuses": [container("jars", waiting={"reason": "PodInitializing"})]},
            "Pending (PodInitializing)",
        ),
        (
            {
                "conditions": [
                    {"type": "Ready", "status": "False", "reason": "no"},
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"},
                ]
            },
            "Pending (Unschedulable: 0/3 nodes)",
        ),
        ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, "Pending"),
    ],
)
def test_a_pod_that_waits_says_why(status, shown):
    assert str(status_of(pod("Pending", **status))) == shown


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"containerStatuses": [ended(137, reason="OOMKilled")]}, "OOMKilled (exit code 137)"),
        ({"containerStatuses": [ended(1, reason="Error", message="no\n")]}, "Error: no (exit code 1)"),
        ({"containerStatuses": [ended(2)]}, "(exit code 2)"),
        (
            {"reason": "Evicted", "message": "low on memory", "containerStatuses": [ended(143, reason="Error")]},
            "Evicted: low on memory. Error (exit code 143)",
        ),
        ({"reason": "DeadlineExceeded"}, "DeadlineExceeded"),
        ({}, None),
    ],
)
def test_a_pod_that_has_failed_says_why(status, message):
    found = status_of(pod("Failed", **status))
    assert (found.state, found.message) == ("Failed", message)


def test_the_output_of_a_driver_is_that_of_its_container():
    assert status_of(pod("Running")).output == "shown by kubectl logs --namespace jobs job-driver"
    both = status_of(pod("Running", (SIDECAR, OWN)))
    assert both.output == "shown by kubectl logs --namespace jobs job-driver --container spark-kubernetes-driver"


def test_a_status_of_an_earlier_release_has_begun():
    assert DriverStatus(state="RUNNING", is_active=True).has_begun
