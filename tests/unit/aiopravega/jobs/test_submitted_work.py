"""Work for a program that is submitted: it arrives by one variable, which has no secret."""

import os

import pytest

from aiopravega import PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.jobs.handover import HandedInput, HandedOutput, HandedPiece, Handover, connection_without_secrets
from aiopravega.jobs.submitted_work import WORK_VARIABLE, ReportAddress, SubmittedWork
from aiopravega.names import SegmentId

RIDES = StreamName("shop", "rides")
FIRST = SegmentId(RIDES, 0, 0)
CUTS = StreamCutRange(StreamCut(RIDES, {FIRST: 0}), StreamCut(RIDES, {FIRST: 80}))
CONFIG = PravegaConfig(controller_uri="tcp://pravega:9090", username="analytics", password="hush")
ADDRESS = ReportAddress("shop", "airflow/dag/task/run", "one")


def submitted() -> SubmittedWork:
    inputs = {"events": HandedInput(RIDES, (HandedPiece(CUTS, 80),), {"decode": "auto", "token": "hush"})}
    return SubmittedWork(Handover(connection_without_secrets(CONFIG), inputs, HandedOutput(RIDES, "copies")), ADDRESS)


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


def test_all_submissions_of_a_job_have_one_entry():
    assert ReportAddress("shop", ADDRESS.job, "two").key == ADDRESS.key
    assert ReportAddress("shop", "airflow/dag/task/another run", "one").key != ADDRESS.key
