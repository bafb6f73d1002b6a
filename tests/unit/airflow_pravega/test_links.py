"""Which operators have which links, and the words of the page of a stream."""

import logging
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from airflow.sdk import BaseOperator

from aiopravega import RetentionPolicy, ScalingPolicy
from aiopravega.control.policies import RetentionType
from airflow_pravega.links import PravegaSparkLink, store_last_link
from airflow_pravega.page.consumers import retention_in_words, scaling_in_words
from airflow_pravega.provider_info import get_provider_info

MODULES = [
    import_module(name)
    for kind in ("operators", "sensors")
    for part in get_provider_info()[kind]
    for name in part["python-modules"]
]
OPERATORS: list[Any] = sorted(
    {
        value
        for module in MODULES
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, BaseOperator)
        and value.__module__ == module.__name__
        and value.__name__.startswith("Pravega")
    },
    key=lambda operator: operator.__name__,
)
# They work on a scope, on a group of readers, on files of settings, on a table, or on the ledger.
WITHOUT = {
    "PravegaCreateReaderGroupOperator",
    "PravegaCreateScopeOperator",
    "PravegaDebeziumCheckOperator",
    "PravegaDebeziumStreamsOperator",
    "PravegaDeleteReaderGroupOperator",
    "PravegaDeleteScopeOperator",
    "PravegaErrorsCheckOperator",
    "PravegaErrorsSensor",
    "PravegaLedgerMaintenanceOperator",
    "PravegaReaderGroupSensor",
    "PravegaResetReaderGroupOperator",
    "PravegaTableUpkeepOperator",
    "PravegaWriteDecisionOperator",
}
OF_CONSUMERS = {
    "PravegaCdcMergeOperator",
    "PravegaEventTimeSensor",
    "PravegaKeepTableOperator",
    "PravegaLandOperator",
    "PravegaReadEventsOperator",
    "PravegaSparkReadOperator",
    "PravegaSparkSubmitOperator",
    "PravegaSqlCheckOperator",
    "PravegaSqlOperator",
    "PravegaStreamCutSensor",
    "PravegaStreamsCutSensor",
}
# A program that is submitted has a driver of its own, whose address Airflow's provider does not say.
OF_SPARK = {"PravegaCdcMergeOperator", "PravegaLandOperator", "PravegaSparkReadOperator", "PravegaSparkWriteOperator"}


def test_every_operator_has_the_links_to_what_it_works_on():
    found = {operator.__name__: {link.name for link in operator.operator_extra_links} for operator in OPERATORS}

    assert {name for name, links in found.items() if "Pravega stream" not in links} == WITHOUT
    assert {name for name, links in found.items() if "Pravega consumer" in links} == OF_CONSUMERS
    assert {name for name, links in found.items() if "Spark" in links} == OF_SPARK


class Away:
    """A task whose server is away."""

    def xcom_push(self, **_: object) -> None:
        """Fail."""
        raise ConnectionError("nobody listens")


def test_the_last_link_of_a_task_hides_no_error(caplog: pytest.LogCaptureFixture):
    context: Any = {"ti": Away()}
    store_last_link(context, PravegaSparkLink(), "http://history", logging.getLogger("task"))
    assert "The link 'Spark' of this task is not stored: nobody listens" in caplog.text


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (ScalingPolicy.fixed(1), "fixed, 1 segment"),
        (ScalingPolicy.fixed(4), "fixed, 4 segments"),
        (
            ScalingPolicy.by_data_rate(2000, 3, 2),
            "a segment over 2,000 KB/s is split into 3; at least 2 segments",
        ),
    ],
)
def test_scaling_in_words(policy: ScalingPolicy, words: str):
    assert scaling_in_words(policy) == words


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (RetentionPolicy.none(), "all data stays"),
        (RetentionPolicy.bytes(1000, 2000), "at least 1,000 bytes stay, and at most 2,000 bytes"),
        (RetentionPolicy.time(timedelta(days=2)), "at least 2 days, 0:00:00 stay"),
        (RetentionPolicy(RetentionType.TIME, 2**62, 2**63 - 1), f"at least {2**62:,} ms stay"),
    ],
)
def test_retention_in_words(policy: RetentionPolicy, words: str):
    assert retention_in_words(policy) == words
