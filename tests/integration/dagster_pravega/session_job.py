"""A process with a Spark of its own: an asset that needs Spark before it has an input, and whose JVM dies.

python session_job.py CONTROLLER STREAM
"""

import os
import signal
import sys

import dagster as dg
from pyspark.sql import DataFrame

from dagster_pravega import PravegaResource, PravegaSparkIOManager, spark_session


@dg.asset(
    io_manager_key="pravega_spark",
    metadata={"pravega/stream": sys.argv[2]},
    retry_policy=dg.RetryPolicy(max_retries=1),
)
def numbers(context: dg.AssetExecutionContext) -> DataFrame:
    """Three events, at the second try."""
    session = spark_session()
    print("settings", session.sparkContext.master, session.conf.get("spark.sql.shuffle.partitions"), flush=True)
    if context.retry_number == 0:
        gateway = session.sparkContext._gateway
        assert gateway is not None
        os.kill(gateway.proc.pid, signal.SIGKILL)
        session.range(3).count()
    return session.range(3).selectExpr("cast(id as string) as event")


manager = PravegaSparkIOManager(
    pravega=PravegaResource(controller_uri=sys.argv[1]),
    master="local[1]",
    spark_conf={"spark.sql.shuffle.partitions": "7", "spark.ui.enabled": "false"},
)
dg.materialize([numbers], resources={"pravega_spark": manager})
