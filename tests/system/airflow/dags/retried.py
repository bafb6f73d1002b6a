"""Two tasks with the retry policy: the stream of one is not there, the other one's first try finds no server."""

from datetime import timedelta
from importlib.util import find_spec

from airflow.sdk import DAG, get_current_context, task

from aiopravega.errors import PravegaConnectionError
from airflow_pravega.hooks.pravega import PravegaHook

HOUR = timedelta(hours=1)

if find_spec("airflow.sdk.definitions.retry_policy") is not None:  # as of Airflow 3.3
    from airflow_pravega.retry_policy import PravegaRetryPolicy

    @task(retries=3, retry_delay=HOUR, retry_policy=PravegaRetryPolicy())
    def gone() -> None:
        with PravegaHook().get_client() as client:
            client.tail("system-retried/none")

    @task(retries=3, retry_delay=HOUR, retry_policy=PravegaRetryPolicy(delay=timedelta(seconds=1)))
    def passes() -> int:
        tried = get_current_context()["ti"].try_number
        if tried == 1:
            raise RuntimeError("a report") from PravegaConnectionError("the first try is meant to fail")
        return tried

    with DAG("retried", schedule=None) as dag:
        gone()
        passes()
