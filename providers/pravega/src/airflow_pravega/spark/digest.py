"""One digest for a folder of files that Spark wrote: equal digests, equal bytes.

Spark gives every file a random name; what stays is the number of its part. The files are read where they are, by
Spark, so it does not matter on which file system.
"""

import hashlib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# part-00003-<random>-c000.snappy.parquet: the part's number, and the file's number within the part.
_PART: Final = re.compile(r"part-(\d+)-.*?-c(\d+)")


def _place(path: str) -> tuple[str, int, int]:
    folder, _, name = path.rpartition("/")
    match = _PART.match(name)
    part, file = (int(number) for number in match.groups()) if match else (0, 0)
    return folder, part, file


def digest_of_files(spark: "SparkSession", path: str) -> str:
    """SHA-256 over the contents of all part files below `path`, in the order of their parts, in hexadecimal digits."""
    from pyspark.sql.functions import sha2

    files = spark.read.format("binaryFile").option("pathGlobFilter", "part-*").load(path)
    rows = files.select("path", sha2("content", 256).alias("digest")).collect()
    whole = hashlib.sha256()
    for row in sorted(rows, key=lambda row: _place(row.path)):
        whole.update(bytes.fromhex(row.digest))
    return whole.hexdigest()
