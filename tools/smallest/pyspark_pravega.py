"""The smallest program with Spark: a row is written once, and read."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.createDataFrame([("a row",)], "event string")
for _ in range(2):
    rows.write.format("pravega").mode("append").options(stream="smallest/rows", write_id="rows/1").save()
found = [bytes(row.event) for row in spark.read.format("pravega").option("stream", "smallest/rows").load().collect()]
spark.stop()
assert found == [b"a row"], found
