"""A plain Spark job: the lines of one stream in capitals to another one, once. What it did is JSON on standard output.

Between its read and its write it waits for a line of input, so that a test can read what lies about meanwhile.
"""

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, upper


def main() -> None:
    """Run the job."""
    source, sink, write_id = sys.argv[1:]
    spark = SparkSession.builder.appName(write_id).getOrCreate()
    spark.sparkContext.setLogLevel("INFO")
    events = spark.read.format("pravega").option("stream", source).load()
    louder = events.select(upper(col("event").cast("string")).alias("event"))
    louder.explain(extended=True)
    executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # without the driver
    print(json.dumps({"read": louder.count(), "partitions": louder.rdd.getNumPartitions(), "executors": executors}))
    sys.stdout.flush()
    sys.stdin.readline()
    for _ in range(2):  # the second time, it is there already
        louder.write.format("pravega").mode("append").options(stream=sink, write_id=write_id).save()
    spark.stop()


if __name__ == "__main__":
    main()
