"""How many tasks Spark can run, from the command line of the driver's JVM."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyspark_pravega.read.parallelism import UNKNOWN, cores, settings, tasks_at_a_time


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"spark.master": "local"}, 1),
        ({"spark.master": "local[3]"}, 3),
        ({"spark.master": "local[4,2]"}, 4),
        ({"spark.master": "local[*]"}, os.cpu_count()),
        ({"spark.master": "local-cluster[2, 3, 1024]"}, 6),
        ({"spark.master": "spark://host:7077", "spark.cores.max": "12"}, 12),
        ({"spark.master": "yarn", "spark.executor.instances": "5", "spark.executor.cores": "4"}, 20),
        ({"spark.master": "yarn", "spark.dynamicAllocation.maxExecutors": "7"}, 7),
        ({"spark.master": "k8s://https://host", "spark.default.parallelism": "48"}, 48),
        ({"spark.master": "yarn", "spark.executor.instances": "many"}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_settings_say_how_many_tasks_run_at_a_time(found, expected):
    assert cores(found) == expected


def test_settings_are_read_off_a_command_line():
    line = (
        "java -cp jars -Dspark.executor.cores=2 org.apache.spark.deploy.SparkSubmit --master yarn "
        "--conf spark.executor.instances=3 --num-executors 4 job.py --conf"
    )

    assert settings(line.split()) == {
        "spark.executor.cores": "2",
        "spark.master": "yarn",
        "spark.executor.instances": "4",
        "": "",
    }


def process(folder, number, parent, *arguments):
    (folder / str(number)).mkdir()
    (folder / str(number) / "cmdline").write_text("\0".join(arguments))
    (folder / str(number) / "stat").write_text(f"{number} (python (3) ) S {parent} 1 1")


def test_the_driver_is_found_among_the_parents(tmp_path):
    process(tmp_path, os.getpid(), 11, "python", "-m", "pyspark.daemon")
    process(tmp_path, 11, 12, "python", "-m", "pyspark.daemon")
    process(tmp_path, 12, 1, "java", "org.apache.spark.deploy.SparkSubmit", "--conf", "spark.master=local[5]")

    assert tasks_at_a_time(tmp_path) == 5


def test_without_a_driver_nothing_is_known(tmp_path):
    assert tasks_at_a_time(tmp_path) == UNKNOWN
    process(tmp_path, os.getpid(), 1, "python")
    assert tasks_at_a_time(tmp_path) == UNKNOWN


def test_the_command_line_of_a_real_parent_is_read():
    code = (
        "import subprocess, sys;"
        "print(subprocess.check_output([sys.executable, '-c', "
        "'from pyspark_pravega.read.parallelism import tasks_at_a_time; print(tasks_at_a_time())'], text=True))"
    )
    arguments = [sys.executable, "-c", code, "org.apache.spark.deploy.SparkSubmit", "--master", "local[9]"]

    assert int(subprocess.check_output(arguments, text=True)) == (9 if Path("/proc/self/stat").exists() else UNKNOWN)
