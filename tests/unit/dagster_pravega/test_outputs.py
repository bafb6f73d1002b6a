"""Values that an IO manager cannot write are refused by name, with the types that it takes; no engine is started."""

import pandas as pd
import pytest
from pyspark import SparkContext

from aiopravega.errors import ConfigurationError
from dagster_pravega import PravegaResource, PravegaSparkIOManager


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "has returned None, but must return a pyspark.sql.DataFrame .* annotate it with -> None"),
        ({"id": 1}, "has returned dict, but must return a pyspark.sql.DataFrame"),
        (pd.DataFrame(), "has returned pandas.DataFrame.* are for PravegaArrowIOManager"),
    ],
)
def test_spark_takes_its_own_frames_only_and_is_not_started(value, said):
    manager = PravegaSparkIOManager(pravega=PravegaResource(controller_uri="tcp://localhost:1"))
    before = SparkContext._active_spark_context  # of other tests of this process

    with pytest.raises(ConfigurationError, match=said):
        manager.check_output(value)
    assert SparkContext._active_spark_context is before
