"""A cluster with TLS and accounts: runs work, what is refused says so at once, and no password shows anywhere."""

import json
from urllib.parse import urlsplit

import pytest
from tests.system.canaries import canaries, command_lines_watched, files_with, has

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

RIDES, LOUDER = StreamName("system-secured", "rides"), StreamName("system-secured", "louder")
WRONG = "canary-of-a-wrong-password"
FIRST, SECOND = [f"first {number}" for number in range(5)], [f"second {number}" for number in range(5)]


@pytest.fixture
def secured(pravega_emulator_secure, airflow):
    """A client of the cluster, whose streams it makes, and the passwords of Airflow's connections to it, by name."""
    server = pravega_emulator_secure
    uri = urlsplit(server.controller_uri)
    extra = json.dumps({"tls": True, "ca_file": str(server.ca_file)})
    passwords = {account.name: account.password for account in server.accounts}
    owner = server.accounts[0].name

    def connect(conn_id: str, name: str, password: str) -> None:
        fields = {"host": uri.hostname, "port": uri.port, "login": name, "password": password, "extra": extra}
        airflow.api.add_connection(conn_id, "pravega", **fields)

    connect("owner", owner, passwords[owner])
    connect("reader", "reader", passwords["reader"])
    connect("wrong", owner, WRONG)
    with PravegaClient(server.config) as client:
        assert client.create_scope(RIDES.scope)
        for stream in (RIDES, LOUDER):
            assert client.create_stream(stream, ScalingPolicy.fixed(2))
        yield client, passwords | {"wrong": WRONG}


def test_runs_work_and_no_password_shows(airflow, database, secured):
    client, passwords = secured
    secrets = canaries(passwords)
    api = airflow.api

    def write(events):
        with client.writer(RIDES) as writer:
            writer.write_many([event.encode() for event in events])

    def read(stream):
        whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
        return sorted(event.data.decode() for event in client.read(whole, stream))

    with command_lines_watched(secrets) as lines:
        api.unpause("secured_rides", "read_only_rides", "refused_rides")
        refused = api.trigger("refused_rides")
        write(FIRST)
        first = api.trigger("secured_rides")
        api.wait_for_run("secured_rides", first)
        second = api.trigger("secured_rides")
        api.wait_for_task("secured_rides", second, "wait", "deferred")
        deferred = database.dump()
        write(SECOND)
        api.wait_for_run("secured_rides", second)
        seen = api.trigger("read_only_rides")
        api.wait_for_run("read_only_rides", seen)
        api.wait_for_run("refused_rides", refused, "failed")
        page = api.page(f"pravega/owner/consumer?stream={RIDES}&consumer=secured_rides/wait")

    assert "2 done" in page
    assert read(LOUDER) == sorted(event.upper() for event in FIRST + SECOND)
    assert sorted(api.result("read_only_rides", seen, "read")["events"]) == sorted(FIRST + SECOND)
    for task_id, error in {
        "wrong_password": "AuthenticationError",
        "may_not_write": "PermissionDeniedError",
    }.items():
        assert api.task("refused_rides", refused, task_id)["try_number"] == 1
        assert error in api.log("refused_rides", refused, task_id)

    # What is looked for is there where it has to be, and found.
    lines.read()
    assert any(b"org.apache.spark.deploy.SparkSubmit" in line for line in lines.seen)
    dumps = {"while a sensor waits": deferred, "at the end": database.dump(), "page": page.encode()}
    assert b"secured_rides" in dumps["at the end"]
    assert [name for name, dump in dumps.items() if has(secrets, dump)] == []
    assert files_with(secrets, airflow.home) == []
    assert lines.with_secret == set()
