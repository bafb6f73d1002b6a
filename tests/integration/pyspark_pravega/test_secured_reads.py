"""Spark reads with TLS and authentication; secrets stay secret."""

import base64
import uuid

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient


@pytest.fixture
def stream(pravega_emulator_secure):
    with PravegaClient(pravega_emulator_secure.config) as client:
        name = StreamName(f"secret-{uuid.uuid4().hex}", "stream")
        client.create_scope(name.scope)
        client.create_stream(name)
        with client.writer(name) as writer:
            writer.write_many([b"event"] * 100, ["key"] * 100)
        yield name


@pytest.fixture
def password(pravega_emulator_secure):
    return pravega_emulator_secure.config_for("reader").password.get_secret_value()


@pytest.fixture
def load(spark, pravega_emulator_secure, stream):
    server = pravega_emulator_secure

    def load(password: str | None = None, **who: str) -> DataFrame:
        options = {"controller": server.controller_uri, "ca_file": str(server.ca_file)}
        options |= {"scope": stream.scope, "stream": stream.stream}
        options |= who if password is None else {"username": "reader", "password": password}
        frame: DataFrame = spark.read.format("pravega").options(**options).load()
        return frame

    return load


def test_an_account_that_may_only_read_reads(load, password):
    assert load(password).count() == 100


def test_plans_and_partitions_do_not_show_the_password(load, password, capsys):
    frame = load(password)

    frame.explain(extended=True)
    frame.explain(mode="formatted")

    shown = capsys.readouterr().out
    assert "pravega" in shown
    internal = frame._jdf.queryExecution().toString() + frame.rdd.toDebugString().decode()
    assert password not in shown + internal


def test_tasks_get_a_token_from_its_source_by_themselves(load, password, tmp_path):
    token, log = base64.b64encode(f"reader:{password}".encode()).decode(), tmp_path / "pids"
    program = tmp_path / "give"
    program.write_text(f"#!/bin/sh\necho $PPID >>{log}\necho Basic {token}\n")
    program.chmod(0o700)

    frame = load(token_source=f"command:{program}")
    assert frame.count() == 100

    assert len(set(log.read_text().split())) >= 2  # the process that plans, and that of a task
    shown = frame._jdf.queryExecution().toString() + frame.rdd.toDebugString().decode()
    assert token not in shown
    assert password not in shown


def test_a_wrong_password_is_refused_and_not_shown(load):
    with pytest.raises(AnalysisException) as raised:
        load("guessed-wrong").collect()

    said = str(raised.value)
    assert "aiopravega.errors.AuthenticationError" in said
    assert "the password of account 'reader' is wrong" in said
    assert "guessed-wrong" not in said
