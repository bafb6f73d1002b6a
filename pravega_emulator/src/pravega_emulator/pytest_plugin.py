"""Pytest fixtures of a real Pravega.

Pytest loads this in every environment that has the package, so it imports nothing of weight at the start. With
pytest-xdist the workers share one server of each kind: the first one that needs it starts it, and it ends with the
process that controls the workers.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aiopravega.config import PravegaConfig
    from pravega_emulator.durable import DurablePravega
    from pravega_emulator.server import PravegaServer

_OWNER = "pravega_owner"  # pid of the process that controls the test run
# Tests wait for watermarks, which are made every 10 s otherwise.
_OFTEN = "controller.watermarking.frequency.seconds=2"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker of pytest-xdist the process id of its controller."""
    node.workerinput[_OWNER] = os.getpid()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what this test run has started."""
    if hasattr(config, "workerinput"):
        return
    from pravega_emulator.shared import stop_shared

    stop_shared(os.getpid())


def _shared(request: pytest.FixtureRequest, kind: str, *arguments: str) -> PravegaServer:
    from pravega_emulator.shared import shared_server

    owner: int = getattr(request.config, "workerinput", {}).get(_OWNER, os.getpid())
    return shared_server(owner, kind, arguments)


@pytest.fixture(scope="session")
def pravega_emulator(request: pytest.FixtureRequest) -> PravegaServer:
    """A running Pravega with a Schema Registry for the whole test session; it makes watermarks every 2 s.

    Other tests use the same server: make scopes and groups with names of your own.
    """
    return _shared(request, "plain", "--schema-registry", "--set", _OFTEN)


@pytest.fixture(scope="session")
def pravega_config(pravega_emulator: PravegaServer) -> PravegaConfig:
    """The configuration of a client of `pravega_emulator`."""
    return pravega_emulator.config


@pytest.fixture(scope="session")
def pravega_emulator_secure(request: pytest.FixtureRequest) -> PravegaServer:
    """The same with TLS and authentication; `config_for("reader")` may read everything, but write nothing."""
    return _shared(request, "secure", "--tls", "--auth", "--schema-registry")


@pytest.fixture
def pravega_replay(pravega_config: PravegaConfig) -> Callable[..., Any]:
    """A function that replays intervals of the cluster that PRAVEGA_CONTROLLER_URI names, in `pravega_emulator`.

    It has the arguments of `pravega_jobs.sandbox.replay` but the client, and `most_events` and `most_bytes`; nothing is
    written to the cluster. Its result has `assert_same`. It needs pravega-jobs[sql].
    """
    from functools import partial

    from pravega_emulator.sandbox import offered

    return partial(offered("replay"), pravega_config)


@pytest.fixture
def pravega_durable() -> Iterator[Callable[..., DurablePravega]]:
    """A function that starts a `DurablePravega` with the given arguments; it ends after the test."""
    from contextlib import ExitStack

    from pravega_emulator.durable import DurablePravega

    with ExitStack() as stack:
        yield lambda **arguments: stack.enter_context(DurablePravega(**arguments))
