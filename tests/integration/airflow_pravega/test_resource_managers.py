"""Drivers on YARN as ResourceManagers describe them, without a cluster: the ResourceManagers are played."""

import asyncio
import json
import logging
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException
from requests.auth import HTTPBasicAuth

from aiopravega.errors import ConfigurationError, PravegaConnectionError, ServerError
from airflow_pravega.spark.drivers import DriverStatus
from airflow_pravega.spark.submission import DriverSubmission, check_ended_well, hook_from, program_of
from airflow_pravega.spark.yarn import YarnDrivers
from pravega_jobs.remote.orders import WorkOrder
from pravega_jobs.remote.reports import JobReports, ReportAddress

APP = "application_1795887574150_0001"


class Manager:
    """A ResourceManager with applications by their tags; `answer` is what it says instead: status, headers, text."""

    def __init__(self, answer=None, redirects_to=None):
        self.tagged: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[tuple[str, str]] = []
        self.redirects_to = redirects_to
        self.starts = False  # it answers, but has not read yet what it knew
        manager = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.do_PUT()

            def do_PUT(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                manager.asked.append((self.command, body.decode()))
                if manager.redirects_to is not None:
                    self.say(307, "This is standby RM.", location=manager.redirects_to + self.path)
                elif answer is not None:
                    self.say(answer[0], answer[2], **answer[1])
                else:
                    self.say(*manager.found(urlsplit(self.path)))

            def say(self, status, text, **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def found(self, address):
        if address.path.endswith("/info"):
            starts, self.starts = self.starts, False
            return 200, json.dumps({"clusterInfo": {"haState": "INITIALIZING" if starts else "ACTIVE"}})
        if self.starts:
            return 404, json.dumps({"RemoteException": {"exception": "NotFoundException", "message": "not found"}})
        if address.query:
            apps = self.tagged.get(parse_qs(address.query)["applicationTags"][0])
            return 200, json.dumps({"apps": {"app": apps} if apps else {}})
        known = {app["id"]: app for apps in self.tagged.values() for app in apps}
        name = address.path.split("/")[5]
        if name not in known:
            return 404, json.dumps({"RemoteException": {"exception": "NotFoundException", "message": "not found"}})
        return 200, json.dumps({"app": known[name]})

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def app(state, final="UNDEFINED", started=1, name=APP, **more):
    return {"id": name, "state": state, "finalStatus": final, "startedTime": started, **more}


@pytest.fixture
def connect(monkeypatch):
    """Makes the connection of Spark lead to YARN."""

    def connect(address, mode="cluster", **extra):
        extra |= {"deploy-mode": mode, "yarn_resourcemanager_webapp_address": address}
        fields = {"conn_type": "spark", "host": "yarn", "extra": {key: each for key, each in extra.items() if each}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))

    return connect


def program(**arguments):
    return program_of(hook_from(partial(SparkSubmitHook, **arguments)), "/jobs/program.py", "job")


@pytest.mark.parametrize(
    ("state", "final", "is_active", "is_well", "shown"),
    [
        ("ACCEPTED", "UNDEFINED", True, False, "ACCEPTED"),
        ("RUNNING", "UNDEFINED", True, False, "RUNNING on node:8042"),
        ("FINISHED", "SUCCEEDED", False, True, "SUCCEEDED on node:8042"),
        ("FINISHED", "FAILED", False, False, "FAILED on node:8042"),
        ("KILLED", "KILLED", False, False, "KILLED"),
    ],
)
def test_the_state_of_an_application_is_that_of_its_driver(state, final, is_active, is_well, shown):
    with Manager() as manager:
        where = {"amHostHttpAddress": "node:8042"} if " on " in shown else {}
        manager.tagged["one"] = [app(state, final, diagnostics="\n", **where)]
        found = asyncio.run(YarnDrivers([manager.address]).status(APP))
    assert (found.is_active, found.has_ended_well, str(found), found.message) == (is_active, is_well, shown, None)


def test_a_resource_manager_that_starts_does_not_know_yet():
    with Manager() as manager:
        manager.tagged["one"] = [app("RUNNING")]
        manager.starts = True
        with pytest.raises(PravegaConnectionError, match="the ResourceManager is INITIALIZING"):
            asyncio.run(YarnDrivers([manager.address]).status(APP))
        assert asyncio.run(YarnDrivers([manager.address]).status(APP)).state == "RUNNING"


def test_an_application_is_found_by_its_tag_and_killed():
    with Manager() as manager:
        drivers = YarnDrivers([manager.address])
        assert asyncio.run(drivers.find("one")) is None
        manager.tagged["one"] = [app("KILLED", started=1), app("RUNNING", started=2, name="application_1_0002")]
        assert asyncio.run(drivers.find("one")) == "application_1_0002"
        assert asyncio.run(drivers.status("application_1_0003")) == DriverStatus(None)
        asyncio.run(drivers.kill(APP))
    assert manager.asked[-1] == ("PUT", '{"state":"KILLED"}')


def test_a_manager_that_stands_by_leads_to_the_active_one():
    # So a ResourceManager of Hadoop 3.5.0 says that it knows no active one.
    nobody = (307, {"Refresh": "7;url=http://localhost:8088/"}, "Can not find any active RM.")
    with Manager() as active, Manager(redirects_to=active.address) as standby, Manager(nobody) as lonely:
        active.tagged["one"] = [app("RUNNING")]
        for servers in ([standby.address], [lonely.address, active.address]):
            drivers = YarnDrivers(servers)
            assert asyncio.run(drivers.find("one")) == APP
            asyncio.run(drivers.kill(APP))
        assert [method for method, _ in active.asked] == ["GET", "PUT", "GET", "PUT"]
        with pytest.raises(PravegaConnectionError, match=r"no ResourceManager answers: .*Can not find any active RM"):
            asyncio.run(YarnDrivers([lonely.address]).status(APP))
    with pytest.raises(PravegaConnectionError, match="no ResourceManager answers"):
        asyncio.run(YarnDrivers([lonely.address]).status(APP))


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ((401, {"WWW_Authenticate": "Negotiate"}, "<html>"), ConfigurationError, "401: it asks who asks .Kerberos"),
        ((403, {}, "{}"), ConfigurationError, "403: it asks who asks"),
        ((200, {}, "<html>"), ConfigurationError, "not the web address of a ResourceManager"),
        ((400, {}, '{"RemoteException": {"message": "Invalid"}}'), ConfigurationError, "refuses .*: Invalid"),
        ((500, {}, "no"), PravegaConnectionError, "answers 500"),
    ],
)
def test_a_manager_that_cannot_be_asked_is_named(answer, error, said):
    with Manager(answer) as manager, pytest.raises(error, match=said):
        asyncio.run(YarnDrivers([manager.address]).status(APP))


def test_what_cannot_be_waited_for_on_yarn_is_refused(connect):
    def refused(said, address="http://rm:8088", **arguments):
        extra = arguments.pop("extra", {})
        connect(address, **extra)
        with pytest.raises(ConfigurationError, match=said):
            program(**arguments)

    refused("needs the extra yarn_resourcemanager_webapp_address", address=" ")
    refused("a child of the worker", extra={"mode": "client"})
    refused("post_submit_commands", post_submit_commands=["true"])
    refused("does not take principal", extra={"principal": "ada@REALM"})
    refused("does not take yarn_rm_auth", yarn_rm_auth=HTTPBasicAuth("ada", "secret"))
    refused("waitAppCompletion=true keeps the worker", conf={"spark.yarn.submit.waitAppCompletion": "true"})
    refused("PRAVEGA_PASSWORD would be a setting of Spark", env_vars={"PRAVEGA_PASSWORD": "canary", "A": "b"})
    refused("PRAVEGA_TOKEN would be", conf={"spark.yarn.appMasterEnv.PRAVEGA_TOKEN": "canary"})


def test_two_managers_can_be_named(connect):
    connect("rm1:8088, https://rm2:8090/")
    made = program(conf={"a.b": 1})
    assert made.drivers.servers == ("http://rm1:8088", "https://rm2:8090")
    assert made.settings.items() >= {"a.b": "1", "spark.yarn.maxAppAttempts": "1"}.items()
    assert program(conf={"spark.yarn.maxAppAttempts": "2"}).settings["spark.yarn.maxAppAttempts"] == "2"
    assert made.name_of(WorkOrder({})) == program(conf={"a.b": 1}).name_of(WorkOrder({}))
    assert made.name_of(WorkOrder({})) != program(env_vars={"A": "b"}, conf={"a.b": 1}).name_of(WorkOrder({}))


@pytest.fixture
def submission(client, scope, connect, tmp_path, monkeypatch):
    """Makes a submission; its `spark-submit` adds its words to a file, and ends with a status."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin")

    def submission(manager, status=0):
        (folder / "spark-submit").write_text(f'#!/bin/sh\necho "$@" >> {folder}/words\nexit {status}\n')
        (folder / "spark-submit").chmod(0o755)
        connect(manager.address)
        made = program(conf={"spark.yarn.tags": "night"}, env_vars={"A": "b"})
        return DriverSubmission(client.asynchronous, made, scope, "job", logging.getLogger())

    asking: Any = submission
    asking.words = folder / "words"
    return asking


def test_an_application_is_found_although_spark_submit_failed(client, scope, submission):
    with Manager() as manager:
        submitted = submission(manager, status=1)

        def variables(address):
            manager.tagged[address.submission] = [app("ACCEPTED")]
            return {"B": "c"}

        address = client.run(submitted.submit(WorkOrder({}), variables, {"spark.more": "1"}))
        assert submitted.named(address) == {
            "cluster": "yarn",
            "servers": [manager.address],
            "driver": APP,
            "job": {"scope": scope, "job": "job", "submission": address.submission},
        }
        words = submission.words.read_text()
        assert f"--conf spark.yarn.tags=night,{address.submission} " in words
        for setting in ("submit.waitAppCompletion=false", "appMasterEnv.A=b", "appMasterEnv.B=c"):
            assert f"--conf spark.yarn.{setting} " in words
        assert "--conf spark.more=1 " in words
        client.run(submitted.give_up())
    assert manager.asked[-1][0] == "PUT"
    assert client.run(JobReports(client.asynchronous, address).newest()) is None


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
def test_a_further_try_asks_for_the_tag_of_an_earlier_one(client, scope, submission, is_known, caplog):
    work = WorkOrder({})
    with Manager() as manager:
        # The first try was ended before it had noted its driver.
        with pytest.raises(AirflowException):
            client.run(submission(manager, status=1).submit(work, lambda _: {}, {}))
        newest = client.run(JobReports(client.asynchronous, ReportAddress(scope, "job", "")).newest())
        assert newest is not None
        assert newest[0].driver is None
        if is_known:
            manager.tagged[newest[0].submission] = [app("ACCEPTED")]

        def variables(address):
            manager.tagged[address.submission] = [app("ACCEPTED", name="application_1_0002")]
            return {}

        further = submission(manager)
        with caplog.at_level(logging.INFO):
            address = client.run(further.submit(work, variables, {}))
    assert (address.submission == newest[0].submission) is is_known
    assert further.driver == (APP if is_known else "application_1_0002")
    assert ("Found again: " + APP in caplog.text) is is_known
    assert len(submission.words.read_text().splitlines()) == (1 if is_known else 2)


def test_an_application_that_nobody_knows_is_named(client, submission):
    with Manager() as manager, pytest.raises(ServerError, match=r"no program with the name .* HADOOP_CONF_DIR"):
        client.run(submission(manager).submit(WorkOrder({}), lambda _: {}, {}))
    end = {"state": None, "is_active": False, "has_ended_well": False, "node": None, "output": None, "message": None}
    drivers = YarnDrivers([])
    with pytest.raises(AirflowException, match="no ResourceManager knows .*recovery.enabled"):
        check_ended_well({"end": end}, drivers, APP, has_reported=False)
    check_ended_well({"end": end}, drivers, APP, has_reported=True)
    failed = {**end, "state": "FAILED", "node": "node:8042", "output": "http://logs", "message": "exit 1"}
    with pytest.raises(AirflowException, match=r"ended as FAILED on node:8042: its output is http://logs\. exit 1"):
        check_ended_well({"end": failed}, drivers, APP, has_reported=True)
