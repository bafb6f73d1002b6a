"""Lines of a JVM have their own levels in the task's log, also when it lives longer than the start of the session."""

import logging
import queue
import subprocess
from logging.handlers import QueueHandler

from airflow_pravega.spark.jvm_lines import jvm_lines_logged

SAYS = """
echo "Picked up options" >&2
echo "WARNING: Using incubator modules: jdk.incubator.vector" >&2
echo "Setting default log level to \\"WARN\\"." >&2
echo "26/11/23 02:56:08 WARN Utils: Set SPARK_LOCAL_IP if you need to bind to another address" >&2
echo "26/11/23 02:56:09 INFO SparkContext: Running" >&2
read go
echo "26/11/23 02:56:10 ERROR Executor: lost" >&2
printf '\\tat java.base/Thread\\n' >&2
echo "26/11/23 02:56:11 WARN Utils: 100% slow" >&2
"""


def test_each_line_has_its_own_level(capfd):
    lines: queue.Queue[logging.LogRecord] = queue.Queue()
    log = logging.getLogger("task of Spark")
    log.setLevel(logging.DEBUG)
    log.addHandler(QueueHandler(lines))
    with jvm_lines_logged(log):
        program = subprocess.Popen(["sh", "-c", SAYS], stdin=subprocess.PIPE)
    program.communicate(b"go\n")
    records = [lines.get(timeout=60) for _ in range(8)]
    assert [(record.levelname, record.getMessage().split()[0]) for record in records] == [
        ("INFO", "Picked"),
        ("DEBUG", "WARNING:"),
        ("DEBUG", "Setting"),
        ("DEBUG", "26/11/23"),
        ("INFO", "26/11/23"),
        ("ERROR", "26/11/23"),
        ("ERROR", "at"),
        ("WARNING", "26/11/23"),
    ]
    assert records[-1].getMessage().endswith("100% slow")
    assert capfd.readouterr().err == ""
