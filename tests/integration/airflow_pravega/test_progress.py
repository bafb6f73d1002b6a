"""A task that works for long says how far Spark is: its log has tasks and rows while Spark's tasks are at work."""

import time
from functools import partial

from airflow_pravega.operators.spark import PravegaSparkReadOperator


class Letting:
    """A logger that makes a file at the first line of progress, and keeps these lines."""

    def __init__(self, log, file) -> None:
        self._log, self._file = log, file
        self.lines: list[str] = []

    def info(self, event, *args, **more):
        if event.startswith("Stage "):
            self.lines.append(event)
            self._file.touch()
        return self._log.info(event, *args, **more)

    def __getattr__(self, name):
        return getattr(self._log, name)


def test_the_log_says_how_far_spark_is_while_its_tasks_work(run_task, client, stream, write, spark, tmp_path):
    write(b"a", b"b", b"c")
    cuts = {
        "start": client.head(stream).to_text(),
        "end": client.tail(stream).to_text(),
    }
    released = tmp_path / "released"
    logs: list[Letting] = []

    class Loud(PravegaSparkReadOperator):
        """An operator whose log can be read while it works."""

        @property
        def log(self):
            if not logs:
                logs.append(Letting(super().log, released))
            return logs[0]

    def held_up(events):
        def pass_on(batches):
            yield from batches
            while not released.exists():
                time.sleep(0.1)

        return events.mapInArrow(pass_on, events.schema)

    read = partial(Loud, stream=str(stream), stream_cuts=cuts, output_path=f"{tmp_path}/out", transform=held_up)
    assert run_task(read).result()["events"] == 3
    assert logs[0].lines[0].startswith("Stage ")
    assert " tasks" in logs[0].lines[0]
    assert spark.read.parquet(f"{tmp_path}/out").count() == 3
