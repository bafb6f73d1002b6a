"""One job of `benchmarks.lakes` by Spark 4.1: rows or changes of a Parquet file into a table of Delta or Iceberg.

    build/spark-4.1.4/bin/python -m benchmarks.peers.lake_spark spark-delta|spark-iceberg land|merge TABLE ROWS

Newer Sparks have no Delta and no Iceberg that works. The last line is JSON: the seconds of the work without the begin
of the session, and the largest resident size of the JVM in bytes.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from benchmarks.processes import largest_memory

_PACKAGES: Final = {
    "spark-delta": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "spark-iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
}
_SETTINGS: Final = {
    "spark-delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "spark-iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    },
}


def session_for(contender: str, table: str) -> SparkSession:
    """A session on two cores, with the packages of a form of tables."""
    settings = {
        "spark.jars.packages": _PACKAGES[contender],
        "spark.sql.catalog.lake.warehouse": table,
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
        **_SETTINGS[contender],
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run(spark: SparkSession, contender: str, job: str, table: str, rows: str) -> None:
    """Append rows, or merge changes."""
    name = f"delta.`{table}`" if contender == "spark-delta" else "lake.bench.rows"
    found = spark.read.parquet(rows)
    columns = [each for each in found.columns if not each.startswith("_")]
    if job == "land" or not any(Path(table).iterdir()):
        plain = found.select(columns)
        if contender == "spark-delta":
            plain.write.format("delta").mode("append").save(table)
        else:
            plain.writeTo(name).using("iceberg").createOrReplace()
        return
    found.createOrReplaceTempView("changes")
    pairs = ", ".join(f"t.{each} = s.{each}" for each in columns)
    spark.sql(
        f"""
        merge into {name} t using changes s on t.id = s.id
        when matched and s._change_type = 'delete' then delete
        when matched then update set {pairs}
        when not matched and s._change_type <> 'delete' then
            insert ({", ".join(columns)}) values ({", ".join(f"s.{each}" for each in columns)})
        """
    )


if __name__ == "__main__":
    _, *words = sys.argv
    Path(words[2]).mkdir(exist_ok=True)
    session = session_for(words[0], words[2])
    session.range(1).count()  # the begin of the session does not count
    begin = time.perf_counter()
    run(session, *words)
    took = time.perf_counter() - begin
    print(json.dumps({"seconds": took, "bytes": largest_memory(os.getpid(), "java")}), flush=True)
    session.stop()
