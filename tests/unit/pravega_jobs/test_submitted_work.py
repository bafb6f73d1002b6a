"""Work for a program that is submitted: it arrives by one variable, which has no secret."""

import json
import os
import re
from base64 import b64decode, b64encode
from typing import Any, cast

import pytest

from aiopravega import PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId
from pravega_jobs.remote.orders import (
    InputOrder,
    RangeOrder,
    WorkOrder,
    WriteOrder,
    connection_without_secrets,
    is_secret_variable,
)
from pravega_jobs.remote.reports import WORK_VARIABLE, ReportAddress, SubmittedWork

RIDES = StreamName("shop", "rides")
FIRST = SegmentId(RIDES, 0, 0)
CUTS = StreamCutRange(StreamCut(RIDES, {FIRST: 0}), StreamCut(RIDES, {FIRST: 80}))
CONFIG = PravegaConfig(controller_uri="tcp://pravega:9090", username="analytics", password="hush")
ADDRESS = ReportAddress("shop", "airflow/dag/task/run", "one")


def submitted() -> SubmittedWork:
    inputs = {"events": InputOrder(RIDES, (RangeOrder(CUTS, 80),), {"decode": "auto", "token": "hush"})}
    return SubmittedWork(WorkOrder(connection_without_secrets(CONFIG), inputs, WriteOrder(RIDES, "copies")), ADDRESS)


def decoded(text: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(b64decode(text)))


def encoded(given: Any) -> str:
    return b64encode(json.dumps(given).encode()).decode()


def test_work_arrives_by_a_variable_without_secrets(monkeypatch):
    [(name, text)] = submitted().to_environment().items()
    assert name == WORK_VARIABLE
    assert "hush" not in json.dumps(decoded(text))
    # YARN puts it into a shell script.
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    monkeypatch.setenv("PRAVEGA_OPTION_TOKEN", "hush")
    assert SubmittedWork.from_text(text) == submitted()


def test_a_secret_that_the_environment_lacks_is_named():
    assert "PRAVEGA_OPTION_TOKEN" not in os.environ
    with pytest.raises(ConfigurationError, match="lacks PRAVEGA_OPTION_TOKEN"):
        SubmittedWork.from_text(submitted().to_environment()[WORK_VARIABLE])


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "",
        lambda text: text[:-1],
        lambda _: '{"work": {}}',
        lambda _: encoded([]),
        lambda _: encoded({}),
        lambda text: encoded({**decoded(text), "address": {"name": "job"}}),
    ],
    ids=["empty", "cut off", "not in base64", "a list", "nothing in it", "another address"],
)
def test_what_is_not_work_is_refused_with_the_name_of_the_variable(change):
    with pytest.raises(ConfigurationError, match=WORK_VARIABLE):
        SubmittedWork.from_text(change(submitted().to_environment()[WORK_VARIABLE]))


def test_work_of_another_layout_is_refused():
    given = decoded(submitted().to_environment()[WORK_VARIABLE])
    given["work"]["layout"] = 99
    with pytest.raises(ConfigurationError, match="layout 99"):
        SubmittedWork.from_text(encoded(given))


def test_all_submissions_of_a_job_have_one_entry():
    assert ReportAddress("shop", ADDRESS.job, "two").key == ADDRESS.key
    assert ReportAddress("shop", "airflow/dag/task/another run", "one").key != ADDRESS.key


def test_variables_that_can_have_a_secret_are_known():
    names = ("PRAVEGA_PASSWORD", "PRAVEGA_TOKEN", "PRAVEGA_OPTION_TOKEN", "PRAVEGA_USERNAME", "PRAVEGA_OPTION_DECODE")
    assert [name for name in names if is_secret_variable(name)] == list(names[:3])
    assert not is_secret_variable("PASSWORD")
