"""Work for a program that is submitted: it arrives by one variable, which has no secret."""

import json
import os

import pytest

from aiopravega import PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId
from pravega_jobs.remote.orders import InputOrder, RangeOrder, WorkOrder, WriteOrder, connection_without_secrets
from pravega_jobs.remote.reports import WORK_VARIABLE, ReportAddress, SubmittedWork

RIDES = StreamName("shop", "rides")
FIRST = SegmentId(RIDES, 0, 0)
CUTS = StreamCutRange(StreamCut(RIDES, {FIRST: 0}), StreamCut(RIDES, {FIRST: 80}))
CONFIG = PravegaConfig(controller_uri="tcp://pravega:9090", username="analytics", password="hush")
ADDRESS = ReportAddress("shop", "airflow/dag/task/run", "one")


def submitted() -> SubmittedWork:
    inputs = {"events": InputOrder(RIDES, (RangeOrder(CUTS, 80),), {"decode": "auto", "token": "hush"})}
    return SubmittedWork(WorkOrder(connection_without_secrets(CONFIG), inputs, WriteOrder(RIDES, "copies")), ADDRESS)


def test_work_arrives_by_a_variable_without_secrets(monkeypatch):
    [(name, text)] = submitted().to_environment().items()
    assert name == WORK_VARIABLE
    assert "hush" not in text
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
        lambda _: "[]",
        lambda _: "{}",
        lambda text: text.replace('"job"', '"name"'),
    ],
    ids=["empty", "cut off", "a list", "nothing in it", "another address"],
)
def test_what_is_not_work_is_refused_with_the_name_of_the_variable(change):
    with pytest.raises(ConfigurationError, match=WORK_VARIABLE):
        SubmittedWork.from_text(change(submitted().to_environment()[WORK_VARIABLE]))


def test_work_of_another_layout_is_refused():
    given = json.loads(submitted().to_environment()[WORK_VARIABLE])
    given["work"]["layout"] = 99
    with pytest.raises(ConfigurationError, match="layout 99"):
        SubmittedWork.from_text(json.dumps(given))


def test_all_submissions_of_a_job_have_one_entry():
    assert ReportAddress("shop", ADDRESS.job, "two").key == ADDRESS.key
    assert ReportAddress("shop", "airflow/dag/task/another run", "one").key != ADDRESS.key
