"""Errors that crossed processes as text, and which of them end a job."""

import logging

import pytest

from aiopravega import errors
from aiopravega.errors import PravegaError, StreamTruncatedError
from pravega_jobs.retries import error_in, error_named, permanent_errors_as, unsplit_if_need_be

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


def test_a_pravega_error_is_found_as_itself():
    error = PravegaError("what")
    assert error_in(error) is error


def test_another_exception_contains_no_pravega_error():
    assert error_in(RuntimeError("out of memory")) is None


@pytest.mark.parametrize("name", ["Unheard", "__name__", "annotations"])
def test_an_unknown_error_keeps_its_name(name: str):
    assert str(error_named(name, "message")) == f"{name}: message"


def test_a_read_whose_split_fails_is_run_again_unsplit(caplog):
    tries = []

    def read(options):
        tries.append(dict(options))
        if not options:
            raise RuntimeError("Job aborted\naiopravega.errors.SplitProofError: a/b/0 was split at 7\n\tat")
        return 42

    assert unsplit_if_need_be(read, logging.getLogger("test").warning) == 42
    assert tries == [{}, {"split_bytes": "0"}]
    assert "read again unsplit: a/b/0 was split at 7" in caplog.text


def test_a_read_that_fails_otherwise_is_not_run_again():
    tries = []

    def read(options):
        tries.append(options)
        raise RuntimeError("aiopravega.errors.MalformedEventError: a/b/0")

    with pytest.raises(RuntimeError, match="MalformedEventError"):
        unsplit_if_need_be(read, logging.getLogger("test").warning)
    assert len(tries) == 1


class GaveUpError(Exception):
    """A scheduler's own error, which forbids a new try."""

    def __init__(self, error: PravegaError, text: str) -> None:
        super().__init__(text)
        self.error = error


@pytest.mark.parametrize(
    "kind",
    [
        errors.ConfigurationError,
        errors.StreamNotFoundError,
        errors.InvalidStreamCutError,
        errors.InvalidRangeError,
        errors.StreamTruncatedError,
        errors.StreamSealedError,
        errors.PermissionDeniedError,
        errors.AuthenticationError,
        errors.TlsError,
        errors.EventTooLargeError,
        errors.PartialCommitError,
    ],
)
def test_what_no_new_try_can_help_becomes_the_schedulers_error(kind: type[PravegaError]):
    with (
        pytest.raises(GaveUpError, match=f"^{kind.__name__}: what to do$") as caught,
        permanent_errors_as(GaveUpError),
    ):
        raise kind("what to do")
    assert type(caught.value.error) is kind


@pytest.mark.parametrize(
    "kind",
    [
        errors.PravegaConnectionError,
        errors.PravegaTimeoutError,
        errors.ServerError,
        errors.TokenExpiredError,
        errors.WriteSupersededError,
        errors.TransactionAbortedError,
        errors.TableConflictError,
    ],
)
def test_what_can_pass_stays_what_it_is(kind: type[PravegaError]):
    with pytest.raises(kind, match="later"), permanent_errors_as(GaveUpError):
        raise kind("later")


def test_an_error_inside_spark_is_treated_as_what_it_was():
    with (
        pytest.raises(GaveUpError, match="^StreamTruncatedError: a/b starts"),
        permanent_errors_as(GaveUpError),
    ):
        raise RuntimeError(TRACEBACK)
    with pytest.raises(errors.PravegaTimeoutError, match="^no answer$"), permanent_errors_as(GaveUpError):
        raise RuntimeError("aiopravega.errors.PravegaTimeoutError: no answer")


def test_errors_of_others_stay_what_they_are():
    with pytest.raises(ZeroDivisionError), permanent_errors_as(GaveUpError):
        raise ZeroDivisionError
