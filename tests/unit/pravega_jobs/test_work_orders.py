"""Work that is handed over to a process elsewhere: whole as JSON, but for secrets, which are in the environment."""

import json
from datetime import UTC, datetime

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
    secrets_environment,
)

RIDES = StreamName("shop", "rides")
FIRST = SegmentId(RIDES, 0, 0)
CUTS = StreamCutRange(StreamCut(RIDES, {FIRST: 0}), StreamCut(RIDES, {FIRST: 80}))
TIMES = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
OPTIONS = {"decode": "auto", "schema_registry_password": "hush"}
CONFIG = PravegaConfig(controller_uri="tcp://pravega:9090", username="analytics", password="hush", retry_timeout=5)


def order() -> WorkOrder:
    pieces = (RangeOrder(CUTS, 80), RangeOrder(CUTS, 80, TIMES))
    output = WriteOrder(RIDES, "dagster/copies/partition a", 2, "dagster run 1", {"commit_ledger": "shop/ledger"})
    return WorkOrder(connection_without_secrets(CONFIG), {"rides": InputOrder(RIDES, pieces, OPTIONS)}, output)


def test_work_arrives_as_it_was_given_and_secrets_by_environment_only(monkeypatch):
    text = json.dumps(order().to_json())
    environment = secrets_environment(CONFIG, OPTIONS)

    assert "hush" not in text
    assert "hush" not in repr(order())
    assert environment == {"PRAVEGA_PASSWORD": "hush", "PRAVEGA_OPTION_SCHEMA_REGISTRY_PASSWORD": "hush"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    arrived = WorkOrder.from_json(json.loads(text))
    assert arrived == order()
    assert arrived.config() == CONFIG
    assert arrived.config(controller_uri="tcp://other:9090").controller_uri == "tcp://other:9090"


def test_a_source_of_tokens_is_handed_over_by_its_name(monkeypatch):
    monkeypatch.setenv("PRAVEGA_PASSWORD", "of another account")
    config = PravegaConfig(controller_uri="tcp://pravega:9090", token_source="file:/run/secrets/token")

    arrived = WorkOrder.from_json(json.loads(json.dumps(WorkOrder(connection_without_secrets(config)).to_json())))

    assert arrived.config() == config
    assert secrets_environment(config) == {}


def test_a_secret_that_is_missing_is_named(monkeypatch):
    for name in ("PRAVEGA_PASSWORD", "PRAVEGA_OPTION_SCHEMA_REGISTRY_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="lacks PRAVEGA_OPTION_SCHEMA_REGISTRY_PASSWORD"):
        WorkOrder.from_json(order().to_json())
    without_options = WorkOrder(connection_without_secrets(CONFIG))
    with pytest.raises(ConfigurationError, match="has to have PRAVEGA_PASSWORD"):
        WorkOrder.from_json(without_options.to_json()).config()


def test_work_of_another_release_is_refused():
    with pytest.raises(ConfigurationError, match="install the same release"):
        WorkOrder.from_json({**order().to_json(), "layout": 1})
