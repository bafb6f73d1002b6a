"""What an older Spark cannot do is refused with a message that says so."""

import pytest

from aiopravega.errors import ConfigurationError
from pyspark_pravega.source import OldSparkStreamReader


def test_streaming_reads_say_which_spark_they_need():
    reader = OldSparkStreamReader()

    for ask in (reader.initialOffset, reader.latestOffset):
        with pytest.raises(ConfigurationError, match=r"need PySpark 4\.2"):
            ask()
