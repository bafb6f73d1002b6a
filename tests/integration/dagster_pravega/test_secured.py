"""Reads and writes on a server with TLS and authentication; secrets appear nowhere."""

import uuid

import dagster as dg
from pyspark.sql import DataFrame

from aiopravega.blocking import PravegaClient
from dagster_pravega import PravegaResource, PravegaSparkIOManager


def test_a_password_from_the_environment_is_not_shown_by_a_round_trip(
    pravega_emulator_secure, spark, instance, monkeypatch, capfd
):
    config = pravega_emulator_secure.config
    scope = f"dagster-{uuid.uuid4().hex}"
    with PravegaClient(config) as client:
        client.create_scope(scope)
    assert config.password is not None
    secret = config.password.get_secret_value()
    monkeypatch.setenv("DAGSTER_TEST_PASSWORD", secret)
    resource = PravegaResource(
        controller_uri=config.controller_uri,
        username=config.username,
        password=dg.EnvVar("DAGSTER_TEST_PASSWORD"),
        ca_file=config.ca_file,
        scope=scope,
    )
    found: list[bytes] = []

    @dg.asset(io_manager_key="pravega")
    def greetings() -> DataFrame:
        frame: DataFrame = spark.createDataFrame([("hello",)], "event string")
        return frame

    @dg.asset
    def copy(greetings: DataFrame) -> None:
        greetings.explain(mode="extended")
        found.extend(row.event for row in greetings.collect())

    resources = {"pravega": PravegaSparkIOManager(pravega=resource), "io_manager": dg.mem_io_manager}
    result = dg.materialize([greetings, copy], resources=resources, instance=instance)

    assert found == [b"hello"]
    run = instance.get_run_by_id(result.run_id)
    shown = [str(run), *(str(entry) for entry in instance.all_logs(result.run_id)), *capfd.readouterr()]
    assert not [text for text in shown if secret in text]
