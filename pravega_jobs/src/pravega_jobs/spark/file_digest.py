"""One digest for a folder of files that Spark wrote: equal digests, the same contents in the same order.

Spark gives every file a random name; what stays is the number of its part. The files are read where they are, by
Spark, so it does not matter on which file system. Of most formats, the bytes say all. A Parquet file lists the
encodings of a column in an order that differs from JVM to JVM, so that tasks which write the same rows write other
bytes: there it is the rows that count, with their positions.
"""

import hashlib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET: Final = "parquet"
# part-00003-<random>-c000.snappy.parquet: the part's number, and the file's number within the part.
# The random name may have a part that looks like the file's number.
_PART: Final = r"part-(\d+)-.*-c(\d+)(?:\.|$)"
_SHA256_DIGITS: Final = 64
# A digest is added up in pieces that a decimal can hold the sum of.
_PIECE_DIGITS: Final = 8


def digest_of_files(spark: "SparkSession", path: str, output_format: str = PARQUET) -> str:
    """SHA-256 over the contents of all part files below `path`, in the order of their parts, in hexadecimal digits."""
    if output_format.lower() == PARQUET:
        return _digest_of_rows(spark.read.parquet(path))
    from pyspark.sql.functions import sha2

    files = spark.read.format("binaryFile").option("pathGlobFilter", "part-*").load(path)
    rows = files.select("path", sha2("content", 256).alias("digest")).collect()
    whole = hashlib.sha256()
    for row in sorted(rows, key=lambda row: _place(row.path)):
        whole.update(bytes.fromhex(row.digest))
    return whole.hexdigest()


def _digest_of_rows(frame: "DataFrame") -> str:
    """The sum of the digests of all rows, each with its position, so that the order of the sum does not matter."""
    from pyspark.sql import functions as sql

    names = ["`{}`".format(name.replace("`", "``")) for name in frame.columns]
    values = sql.to_json(sql.struct(*names), {"ignoreNullFields": "false", "timeZone": "UTC"})
    file = sql.col("_metadata.file_name")
    position = [sql.regexp_extract(file, _PART, 1), sql.regexp_extract(file, _PART, 2), sql.col("_metadata.row_index")]
    digest = sql.sha2(sql.concat_ws(" ", *(each.cast("string") for each in position), values), 256)
    starts = range(1, _SHA256_DIGITS, _PIECE_DIGITS)
    pieces = [sql.conv(sql.substring("digest", start, _PIECE_DIGITS), 16, 10).cast("decimal(38,0)") for start in starts]
    sums = [sql.sum(piece).alias(f"sum{number}") for number, piece in enumerate(pieces)]
    [row] = frame.select(digest.alias("digest")).agg(sql.count("*").alias("rows"), *sums).collect()
    return hashlib.sha256(" ".join(map(str, row)).encode()).hexdigest()


def _place(path: str) -> tuple[str, int, int]:
    folder, _, name = path.rpartition("/")
    match = re.match(_PART, name)
    part, file = (int(number) for number in match.groups()) if match else (0, 0)
    return folder, part, file
