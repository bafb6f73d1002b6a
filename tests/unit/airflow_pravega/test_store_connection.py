"""Connections of AWS: tables that are in none of its stores, and Amazon's provider that is missing."""

import json
import sys
from functools import partial
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.aws import store_access
from airflow_pravega.frames.range import PravegaFrameRangeOperator
from airflow_pravega.operators.cdc import PravegaCdcMergeOperator
from airflow_pravega.operators.land import PravegaLandOperator
from airflow_pravega.operators.upkeep import PravegaTableUpkeepOperator

SECRET = "canary-of-a-store"
OF_RANGE: dict[str, Any] = {"task_id": "task", "stream": "shop/orders", "stream_cuts": {}}
OPERATORS = [
    partial(PravegaLandOperator, **OF_RANGE),
    partial(PravegaCdcMergeOperator, key=["id"], **OF_RANGE),
    partial(PravegaTableUpkeepOperator, task_id="task"),
    partial(PravegaFrameRangeOperator, task_id="task"),
]


def refused(make, **arguments) -> str:
    with pytest.raises((AirflowFailException, ConfigurationError)) as raised:
        make(**arguments)
    return str(raised.value)


@pytest.mark.parametrize("make", OPERATORS)
def test_a_table_that_no_store_of_aws_has_is_refused_when_made(make):
    for table in ("delta:/lake/orders", "delta:gs://lake/orders"):
        assert "aws_conn_id is given, but the table is in no store of AWS" in refused(
            make, table=table, aws_conn_id="aws_default"
        )
    for more in ({"table": "delta:s3://lake/orders"}, {"table": "shop.orders", "iceberg_conn_id": "lake"}):
        made = make(aws_conn_id="aws_default", **more)
        assert made.aws_conn_id == "aws_default"
        assert {"aws_conn_id", "iceberg_conn_id"} <= set(made.template_fields)


def test_upkeep_refuses_a_table_that_its_catalog_cannot_have():
    make = partial(PravegaTableUpkeepOperator, task_id="task", iceberg_conn_id="lake")
    assert "and iceberg_conn_id is given" in refused(make, table="iceberg:lake/shop.orders")


def test_keys_of_a_connection_become_options_and_none_is_shown(monkeypatch):
    pytest.importorskip("airflow.providers.amazon", reason="environments of older Airflows lack Amazon's provider")
    fields = {"conn_type": "aws", "login": "AKIA", "password": SECRET}
    extra = {"region_name": "eu-west-1", "endpoint_url": "http://127.0.0.1:1", "aws_session_token": "token-of-a-store"}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(fields | {"extra": extra}))
    access = store_access("aws_default")
    assert access is not None
    assert access.options() == {
        "aws_access_key_id": "AKIA",
        "aws_secret_access_key": SECRET,
        "aws_session_token": "token-of-a-store",
        "aws_region": "eu-west-1",
        "aws_endpoint_url": "http://127.0.0.1:1",
        "allow_http": "true",
    }
    assert SECRET not in repr(access)
    assert store_access(None) is None


def test_a_missing_provider_of_amazon_is_named_with_its_extra(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps({"conn_type": "aws"}))
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'airflow-provider-pravega\[amazon\]'"):
        store_access("aws_default")
