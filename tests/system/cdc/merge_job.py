"""A program that merges ranges of both tables' changes, as a scheduler's task does; it may be killed at any moment.

python -m tests.system.cdc.merge_job JOB.json
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.faults.process import ROOT, ProcessTree
from tests.system.cdc.tables import TABLES, changes

from aiopravega import PravegaConfig, StreamName
from pyspark_pravega.cdc import merge_into

CONSUMER = "lake"


def start(folder: Path, config: PravegaConfig, merges: Iterable[Sequence[Any]]) -> ProcessTree:
    """Start the program for merges of (table, target, name of the interval, range)."""
    work = [
        {
            "table": table.name,
            "target": target,
            "interval": interval,
            "start": cuts.start.to_text(),
            "end": cuts.end.to_text(),
        }
        | {"stream": str(cuts.start.stream)}
        for table, target, interval, cuts in merges
    ]
    file, log = folder / "job.json", folder / "job.log"
    settings = config.model_dump(mode="json", include={"controller_uri", "retry_timeout"})
    file.write_text(json.dumps({"config": settings, "merges": work}))
    log.write_bytes(b"")
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.cdc.merge_job", str(file)],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return ProcessTree(process, log)


def main(file: str) -> None:
    job = json.loads(Path(file).read_text())
    config = PravegaConfig(**job["config"])
    spark = SparkSession.builder.master("local[2,2]").appName("merge").getOrCreate()
    for each in job["merges"]:
        [table] = [table for table in TABLES if table.name == each["table"]]
        cuts = {"start": each["start"], "end": each["end"]}
        given = {f"{name}_stream_cut": text for name, text in cuts.items()}
        frame = changes(spark, config, StreamName.parse(each["stream"]), table, **given)
        print("begins", each["interval"], each["target"], flush=True)
        merged = merge_into(
            frame, each["target"], cuts, key=list(table.key), consumer=CONSUMER, interval=each["interval"]
        )
        print("merged", each["interval"], each["target"], merged.action, merged.counts, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
