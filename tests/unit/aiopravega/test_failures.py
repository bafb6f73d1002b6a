"""Errors that crossed processes as text become errors of the tree again."""

import pytest

from aiopravega.errors import PravegaError, StreamTruncatedError
from aiopravega.failures import error_in, error_named

TRACEBACK = """[PYTHON_DATA_SOURCE_ERROR] Cannot plan the Python data source: Traceback (most recent call last):
  File "plan_data_source_read.py", line 399, in main
aiopravega.errors.SegmentNotFoundError: first

The above exception was the direct cause of the following exception:

  File "batch_read.py", line 65, in partitions
aiopravega.errors.StreamTruncatedError: a/b starts at offset 7: start from the head

\tat org.apache.spark.sql.errors.QueryCompilationErrors$.pythonDataSourceError(QueryCompilationErrors.scala:4087)
"""


def test_the_last_error_of_a_traceback_counts():
    found = error_in(RuntimeError(TRACEBACK))
    assert type(found) is StreamTruncatedError
    assert str(found) == "a/b starts at offset 7: start from the head"


def test_an_error_is_itself():
    error = PravegaError("what")
    assert error_in(error) is error


def test_others_have_none():
    assert error_in(RuntimeError("out of memory")) is None


@pytest.mark.parametrize("name", ["Unheard", "__name__", "annotations"])
def test_an_unknown_error_keeps_its_name(name: str):
    assert str(error_named(name, "message")) == f"{name}: message"
