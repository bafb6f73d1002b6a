"""A declarative pipeline: the changes of a database's table, and the table as it is after the last of them.

`spark-pipelines run` appends what is new in the stream to `orders_changes`, and makes `orders` of all changes again.
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from pyspark_pravega.cdc import current

CHANGES = {
    "id": "int",
    "customer": "int",
    "price": "decimal(10,2)",
    "_change_type": "string",
    "_unchanged": "array<string>",
    "_sequence": "binary",
}


@dp.table
def orders_changes() -> DataFrame:
    """Each change once: what has been read is in the pipeline's storage."""
    columns = ", ".join(f"{name} {kind}" for name, kind in CHANGES.items())
    reader = SparkSession.active().readStream.format("pravega").schema(columns)
    reader = reader.options(stream="examples/inv.public.orders", start_stream_cut="earliest")
    return reader.options(decode="debezium-json", key="id").load()


@dp.materialized_view
def orders() -> DataFrame:
    """The last change of each key; a pipeline may not ask Spark which columns there are, hence `columns`."""
    return current(SparkSession.active().read.table("orders_changes"), key=["id"], columns=list(CHANGES))
