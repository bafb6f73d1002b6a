"""A Spark job with Hive's metastore: makes a table of a stream in one session and reads it in another."""

import argparse

from pyspark.sql import SparkSession


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("controller", "scope", "stream", "folder"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.warehouse.dir", f"{arguments.folder}/warehouse")
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:{arguments.folder}/metastore;create=true")
        .enableHiveSupport()
        .getOrCreate()
    )
    spark.sql(
        f"CREATE TABLE orders USING pravega OPTIONS (controller '{arguments.controller}', scope '{arguments.scope}', "
        f"stream '{arguments.stream}')"
    )
    print("catalog", spark.conf.get("spark.sql.catalogImplementation"))
    print("events", spark.newSession().sql("SELECT event FROM orders").count())
    spark.stop()


if __name__ == "__main__":
    main()
