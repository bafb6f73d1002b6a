"""Connections of Spark's provider as masters and settings."""

import json

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import Connection

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.spark import session_settings
from airflow_pravega.operators.spark import PravegaSparkWriteOperator

PASSWORD = "s3cret-of-spark"


def connection(host: str | None, port: int | None = None, conn_type: str = "spark", **fields) -> Connection:
    extra = fields.pop("extra", {})
    text = extra if isinstance(extra, str) else json.dumps(extra)
    return Connection(conn_id="cluster", conn_type=conn_type, host=host, port=port, extra=text, **fields)


@pytest.mark.parametrize(
    ("given", "master"),
    [
        (connection("spark://master", 7077), "spark://master:7077"),
        (connection("master", 7077), "spark://master:7077"),
        (connection("spark://one:7077,two:7077"), "spark://one:7077,two:7077"),
        (connection("yarn"), "yarn"),
        (connection("local[2]"), "local[2]"),
        (connection("k8s://https://cluster", 443), "k8s://https://cluster:443"),
        (connection("server", 15002, "spark_connect"), "sc://server:15002"),
        (connection("sc://server", 15002, "spark_connect"), "sc://server:15002"),
    ],
)
def test_host_and_port_are_the_master(given, master):
    assert session_settings(given) == (master, {})


def test_extras_are_settings():
    extra = {"queue": "night", "namespace": "jobs", "principal": "ada@EXAMPLE", "keytab": "/etc/ada.keytab"}
    ignored = {"deploy-mode": "client", "spark-binary": "spark3"}
    _, settings = session_settings(connection("yarn", extra=extra | ignored))
    assert settings == {
        "spark.yarn.queue": "night",
        "spark.kubernetes.namespace": "jobs",
        "spark.kerberos.principal": "ada@EXAMPLE",
        "spark.kerberos.keytab": "/etc/ada.keytab",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (connection("pravega", conn_type="pravega"), "its type is 'pravega'"),
        (connection(None), "it has no host"),
        (connection("yarn", login="ada", password=PASSWORD), "a login or a password"),
        (connection(f"sc://server/;token={PASSWORD}", conn_type="spark_connect"), "may be secret"),
        (connection(f"spark://ada:{PASSWORD}@master"), "may be secret"),
        (connection("yarn", extra={"deploy-mode": "cluster"}), "deploy-mode is 'cluster'"),
        (connection("yarn", extra={"token": PASSWORD}), "its extras ['token'] are not known"),
        (connection("yarn", extra="no"), "the extras are not a JSON object"),
    ],
)
def test_what_makes_no_session_is_refused_by_name_and_without_secrets(given, message):
    with pytest.raises(ConfigurationError) as raised:
        session_settings(given)
    assert str(raised.value).startswith("connection 'cluster': ")
    assert message in str(raised.value)
    assert PASSWORD not in str(raised.value)


def test_two_masters_stop_the_dag():
    with pytest.raises(AirflowFailException, match="master and spark_conn_id"):
        PravegaSparkWriteOperator(task_id="write", stream="a/b", source="/x", master="yarn", spark_conn_id="cluster")
