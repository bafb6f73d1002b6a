"""A program that Airflow submits: it copies or counts its range, or does what it should not.

submitted_program.py copy|count|nothing|refused|deadly|waiting FOLDER

A deadly copy is killed amid its write at its first try, and after its write, before it reports, at its second one. A
waiting copy begins to write when the folder has a file `go`.
"""

import os
import signal
import sys
import time
from pathlib import Path

from pyspark_pravega.remote.airflow import open_pravega_work
from pyspark_pravega.remote.program import RemoteProgram


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def work(given: RemoteProgram, what: str, folder: Path) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import udf

    tries = len(list(folder.iterdir()))
    (folder / str(tries)).touch()
    frame = given.read(SparkSession.builder.getOrCreate())
    if what == "count":
        given.report({"counted": frame.groupBy().count().collect()[0][0]})
        return
    if what == "refused":
        given.write(frame.selectExpr("1 as event"))
    while what == "waiting" and not (folder / "go").exists():
        time.sleep(0.5)
    if what == "deadly" and tries == 0:
        program = os.getpid()

        def deadly(event: bytearray) -> bytes:
            if bytes(event) == b"event 7":
                os.kill(program, signal.SIGKILL)
            return bytes(event)

        frame = frame.select(udf(deadly, "binary")("event").alias("event"))
    written = given.write(frame.selectExpr("event", "cast(event as string) as routing_key"))
    if what == "deadly" and tries == 1:
        die()
    given.report({"rows": written.total_events})


with open_pravega_work() as opened:
    if sys.argv[1] != "nothing":
        work(opened, sys.argv[1], Path(sys.argv[2]))
