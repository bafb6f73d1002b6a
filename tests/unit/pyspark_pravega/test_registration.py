"""Spark finds the source by itself, and importing it cannot disable other sources."""

import subprocess
import sys

from pyspark.sql.datasource import DataSource

import pyspark_pravega


def test_the_module_has_what_spark_looks_for():
    assert issubclass(pyspark_pravega.DefaultSource, DataSource)
    assert pyspark_pravega.DefaultSource.name() == "pravega"


def test_importing_it_imports_nothing_that_spark_does_not():
    lines = (
        "import sys, pyspark.sql.datasource, pyspark.sql.types",
        "before = set(sys.modules)",
        "import pyspark_pravega",
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))",
    )

    found = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)

    assert found.stdout.split() == ["pyspark_pravega"]
