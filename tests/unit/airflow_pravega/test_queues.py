from pkgutil import resolve_name
from typing import Any

import pytest
from airflow.providers_manager import ProvidersManager
from airflow.triggers.base import BaseEventTrigger

from aiopravega.errors import ConfigurationError
from airflow_pravega.queues.pravega import PravegaMessageQueueProvider
from airflow_pravega.triggers.stream_cut import PravegaStreamCutEventTrigger

NAME = "airflow_pravega.queues.pravega.PravegaMessageQueueProvider"


@pytest.fixture
def provider() -> PravegaMessageQueueProvider:
    """The provider as `MessageQueueTrigger` finds it: by the name of its class, made without arguments."""
    assert NAME in ProvidersManager().queue_class_names
    made = resolve_name(NAME)()
    assert isinstance(made, PravegaMessageQueueProvider)
    return made


def test_a_scheme_gives_the_trigger_of_a_stream(provider):
    assert provider.scheme_matches("pravega")
    trigger = provider.trigger_class()(stream="examples/orders", consumer="shop/orders")
    assert isinstance(trigger, BaseEventTrigger)
    assert trigger.serialize() == PravegaStreamCutEventTrigger("examples/orders", consumer="shop/orders").serialize()


def test_the_uri_of_a_queue_gives_the_trigger_of_a_stream(provider):
    others: dict[str, Any] = {"consumer": "shop/orders", "min_bytes": 100}
    assert provider.queue_matches("pravega://examples/orders")
    given = provider.trigger_kwargs("pravega://examples/orders", **others)
    trigger = provider.trigger_class()(**given, **others)
    assert trigger.serialize() == PravegaStreamCutEventTrigger("examples/orders", **others).serialize()


@pytest.mark.parametrize("other", ["kafka", "redis+pubsub", "pravegas", ""])
def test_it_leaves_other_queues_to_others(provider, other):
    assert not provider.scheme_matches(other)
    assert not provider.queue_matches(f"{other}://examples/orders")


@pytest.mark.parametrize("wrong", ["pravega://examples", "pravega://ada@examples/orders", "pravega://examples/a/b"])
def test_a_uri_that_names_no_stream_is_refused(provider, wrong):
    assert provider.queue_matches(wrong)
    with pytest.raises(ConfigurationError, match="pravega://scope/stream"):
        provider.trigger_kwargs(wrong)
