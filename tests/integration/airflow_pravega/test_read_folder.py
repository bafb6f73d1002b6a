"""The folder of a read in real DAG runs: the files of one try, whatever other tries do."""

from functools import partial

import pytest
from airflow.sdk import get_current_context
from pyspark.sql import functions as sql

from aiopravega import StreamCutRange
from airflow_pravega.operators.spark import PravegaSparkReadOperator

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def read(client, stream, tmp_path):
    """A read of three events, as `run_task` makes it; its files replace those of an earlier run."""
    with client.writer(stream) as writer:
        writer.write_many([b"1", b"2", b"3"])
    cuts = StreamCutRange(client.head(stream), client.tail(stream)).to_json()
    output = tmp_path / "days" / "out"
    output.mkdir(parents=True)
    (output / "part-0.txt").write_text("of an earlier run\n")
    return partial(
        PravegaSparkReadOperator, stream=str(stream), stream_cuts=cuts, output_path=str(output), output_format="text"
    )


def lines(folder):
    return sorted(line for file in folder.glob("part-*") for line in file.read_text().splitlines())


def names(folder):
    return [each.name for each in folder.iterdir()]


def text(frame):
    return frame.select(sql.col("event").cast("string").alias("value"))


def test_a_zombie_beside_its_retry_changes_nothing(run_task, read, capsys, tmp_path):
    seen = []

    def while_a_retry_runs(frame):
        seen.append(lines(tmp_path / "days" / "out"))
        if len(seen) == 1:
            read(task_id="retry", transform=text).execute(get_current_context())
        return text(frame).withColumn("value", sql.concat(sql.lit("of the zombie: "), "value"))

    run = run_task(partial(read, transform=while_a_retry_runs))

    assert seen == [["of an earlier run"], ["1", "2", "3"]]
    assert lines(tmp_path / "days" / "out") == ["of the zombie: 1", "of the zombie: 2", "of the zombie: 3"]
    assert (run.state(), run.tries()) == ("success", 2)
    assert "WriteSupersededError" in capsys.readouterr().out
    assert names(tmp_path / "days") == ["out"]


def test_a_read_that_fails_leaves_the_files_as_they_are(run_task, read, tmp_path):
    days = tmp_path / "days"
    (days / ".out.tries" / "dead" / "files").mkdir(parents=True)

    def broken(frame):
        return text(frame).withColumn("value", sql.raise_error(sql.lit("the read breaks in the middle")))

    assert run_task(partial(read, transform=broken)).state() == "failed"

    assert lines(days / "out") == ["of an earlier run"]
    assert names(days) == ["out"]  # what a try that died has left is gone, too
