"""Drivers of a standalone cluster as its masters describe them, without a cluster: the masters are played."""

import asyncio
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter
from airflow.providers.openlineage.plugins.listener import get_openlineage_listener
from openlineage.client import OpenLineageClient

from aiopravega.errors import ConfigurationError, PravegaConnectionError, PravegaTimeoutError
from airflow_pravega.lineage.reporting import facts_for_spark
from airflow_pravega.operators.spark_submit import PravegaSparkSubmitOperator
from airflow_pravega.spark.standalone import StandaloneDrivers, StandaloneProgram
from airflow_pravega.spark.submission import DriverSubmission, forget_report
from pravega_jobs.remote.orders import WorkOrder
from pravega_jobs.remote.reports import TABLE, JobReports, ReportAddress


def test_all_masters_of_a_cluster_are_asked(monkeypatch):
    fields = {"conn_type": "spark", "host": "spark://one:7077,two:7077", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))
    program = StandaloneProgram.of(SparkSubmitHook(driver_memory="2g", conf={"a.b": 1}), "/jobs/program.py", "job")
    assert program.servers == ("http://one:6066", "http://two:6066")
    request = program.request({"NAME": "value"})
    assert request["appArgs"][-1] == "/jobs/program.py"
    assert request["sparkProperties"].items() >= {"a.b": "1", "spark.driver.memory": "2g"}.items()
    assert request["environmentVariables"] == {"NAME": "value"}


@pytest.mark.parametrize(
    "secret", [{"auth": {"type": "api_key", "apiKey": "canary"}}, {"custom_headers": {"X": "canary"}}]
)
def test_a_secret_of_openlineage_is_not_put_on_a_command_line(client, scope, monkeypatch, secret):
    def submission(more):
        transport = {"type": "http", "url": "http://127.0.0.1:9", **more}
        adapter = OpenLineageAdapter(OpenLineageClient(config={"transport": transport}))
        monkeypatch.setattr(get_openlineage_listener(), "adapter", adapter)
        program = StandaloneProgram(("http://127.0.0.1:9",), ("program.py",), {}, {})
        facts = facts_for_spark({}, {}, parent=False, transport=True)
        return DriverSubmission(client.asynchronous, program, scope, "job", logging.getLogger()).submit(
            WorkOrder({}, {}, None), lambda _: {}, facts
        )

    with pytest.raises(
        ConfigurationError, match=r"adds spark\.openlineage\.transport\..*: say openlineage_inject"
    ) as raised:
        client.run(submission(secret))
    assert "canary" not in str(raised.value)
    with pytest.raises(PravegaConnectionError, match="no master of Spark answers"):
        client.run(submission({}))


def test_a_task_that_continues_after_its_driver_can_be_ended(monkeypatch):
    fields = {"conn_type": "spark", "host": "spark://spark", "port": 7077, "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))
    PravegaSparkSubmitOperator(
        task_id="submit", application="program.py", stream="examples/flights", stream_cuts={}, deferrable=True
    ).on_kill()


class Master:
    """The REST server of a master, in which each driver has one state; without a state, it ends without an answer."""

    def __init__(self, state):
        self.asked: list[str] = []
        master = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.do_POST()

            def do_POST(self):
                master.asked.append(self.path.split("/")[3])
                self.rfile.read(int(self.headers.get("content-length") or 0))
                if state is None:
                    return
                said = {"success": state != "forgotten", "driverState": state, "submissionId": "driver-2"}
                content = json.dumps(said | {"success": True} if self.path.endswith("/create") else said).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                """Say nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def test_a_master_without_an_answer_hides_no_other_one():
    with Master(None) as silent, Master("RUNNING") as alive:
        drivers = StandaloneDrivers([silent.address, alive.address])
        assert asyncio.run(drivers.status("driver-1")).is_active
        asyncio.run(drivers.kill("driver-1"))
        assert alive.asked == ["status", "kill"]
        # The silent one may have taken the program.
        with pytest.raises(PravegaTimeoutError, match="no answer of"):
            asyncio.run(drivers.submit({}))
        assert alive.asked == ["status", "kill"]
        with pytest.raises(PravegaConnectionError, match="no master of Spark answers"):
            asyncio.run(StandaloneDrivers([silent.address]).status("driver-1"))


@pytest.mark.parametrize(
    ("report", "state", "is_found"),
    [
        ({"values": 1}, "FINISHED", True),
        ({"values": 1}, "RUNNING", True),
        ({"values": 1}, "forgotten", True),
        ({"values": 1}, "FAILED", False),
        ({"error": "ReadError", "message": "no"}, "RUNNING", False),
        (None, "RUNNING", True),
        (None, "FINISHED", False),
    ],
)
def test_a_further_try_looks_at_the_driver_before_its_report(client, scope, report, state, is_found):
    work = WorkOrder({}, {}, None)

    def submission(master):
        program = StandaloneProgram((master.address,), ("program.py",), {}, {})
        return DriverSubmission(client.asynchronous, program, scope, "job", logging.getLogger())

    with Master(state) as master:
        first = client.run(submission(master).submit(work, lambda _: {}, {}))
        if report is not None:
            client.run(JobReports(client.asynchronous, first).report(report))
        further = submission(master)
        second = client.run(further.submit(work, lambda _: {}, {}))
    assert (second == first) is is_found
    assert master.asked.count("create") == (1 if is_found else 2)
    assert further.named(second)["driver"] == "driver-2"


def test_a_report_that_cannot_be_removed_is_named(client, scope, caplog):
    address = ReportAddress(scope, "job", "one")
    client.run(JobReports(client.asynchronous, address).expect())
    client.run(client.asynchronous.table(scope, TABLE).put(address.key, b"damaged"))
    with caplog.at_level(logging.WARNING):
        client.run(forget_report(client.asynchronous, address, logging.getLogger(__name__)))
    assert f"The report of job is left in {scope}/{TABLE}" in caplog.text


@pytest.mark.parametrize(
    ("status", "said"), [(200, "not the REST server of a Spark master"), (403, "asks for a token")]
)
def test_a_server_that_cannot_be_asked_is_named(status, said):
    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        drivers = StandaloneDrivers([f"http://127.0.0.1:{server.server_address[1]}"])
        with pytest.raises(ConfigurationError, match=said):
            asyncio.run(drivers.status("driver-1"))
    with pytest.raises(PravegaConnectionError, match="no master of Spark answers"):
        asyncio.run(drivers.status("driver-1"))
