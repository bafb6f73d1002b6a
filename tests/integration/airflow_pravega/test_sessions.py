"""A task uses the Spark session of its process, made by any thread, and leaves it running."""

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from aiopravega.jobs.spark_session import LOCAL, session_for_block


def test_a_session_of_another_thread_is_used_and_continues(spark: SparkSession):
    def task() -> tuple[str, bool]:
        with session_for_block("task", LOCAL, {}, package="airflow-provider-pravega") as session:
            found = SparkSession.getActiveSession()
            return session.sparkContext.applicationId, found is not None

    with ThreadPoolExecutor() as pool:
        assert pool.submit(task).result() == (spark.sparkContext.applicationId, True)
    assert spark.range(3).count() == 3
