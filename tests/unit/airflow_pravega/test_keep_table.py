"""The operator by which a table follows a stream: what is refused when the DAG is read."""

from functools import partial

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_pravega.operators.keep_table import PravegaKeepTableOperator

operator = partial(PravegaKeepTableOperator, task_id="keep", stream="shop/orders")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"table": "/lake/orders"}, "does not say what kind of table it is"),
        ({"table": "postgresql://ada@db/lake#orders"}, "an address may have a password"),
        ({"table": "orders", "postgres_conn_id": "a", "iceberg_conn_id": "b"}, "give that one"),
        ({"table": "parquet:/lake/orders", "key": ["id"]}, "changes cannot be merged"),
        ({"table": "delta:/lake/orders", "aws_conn_id": "a"}, "the table is in no store of AWS"),
        ({"table": "delta:/lake/orders", "deletes": "soft"}, "there is no key"),
        ({"table": "delta:/lake/orders", "delete_column": "gone", "key": ["id"]}, "or give order_by"),
        ({"table": "delta:/lake/orders", "errors": "/lake/errors"}, "does not say what kind of table it is"),
        ({"table": "delta:/lake/orders", "errors": "stream:errors"}, "stream 'errors' has no scope"),
        ({"table": "delta:/lake/orders", "partition_by": ["day(at)"]}, "partitions by columns only"),
        ({"table": "parquet:/lake/orders", "upkeep_after": 5}, "have no upkeep"),
        ({"table": "delta:/lake/orders", "record": False}, "a table knows its ranges by their records"),
        ({"table": "delta:/lake/orders", "since": "earliest"}, "a table follows a chain of ranges"),
        ({"table": "delta:/lake/orders", "if_empty": "fail"}, "if_empty"),
    ],
)
def test_what_cannot_work_is_refused_when_the_dag_is_read(given, message):
    with pytest.raises(AirflowFailException, match=message):
        operator(**given)


def test_tables_that_are_known_when_the_task_runs_are_taken():
    kept = operator(table="{{ params.table }}", errors="{{ params.errors }}", since="{{ params.since }}")
    assert {"table", "errors", "options", "stream", "max_bytes", "aws_conn_id"} <= set(kept.template_fields)
