"""Pytest fixtures of a real Pravega.

Loaded into every test session of an environment with this package, so it imports
nothing at the start and works (until a fixture is used) without the extra `emulator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiopravega.config import PravegaConfig
    from aiopravega.emulator.server import PravegaServer

READ_ONLY = "prn::*,READ"


@pytest.fixture(scope="session")
def pravega_emulator() -> Iterator[PravegaServer]:
    """A running Pravega for the whole test session: make scopes with names of your own in it."""
    from aiopravega.emulator import PravegaEmulator

    with PravegaEmulator() as emulator:
        yield emulator.server


@pytest.fixture(scope="session")
def pravega_emulator_secure() -> Iterator[PravegaServer]:
    """A running Pravega with TLS and authentication; `config_for("reader")` may read everything, but write nothing."""
    from aiopravega.emulator import Account, PravegaEmulator

    reader = Account("reader", "only-reads", READ_ONLY)
    with PravegaEmulator(tls=True, auth=True, accounts=[reader]) as emulator:
        yield emulator.server


@pytest.fixture(scope="session")
def pravega_config(pravega_emulator: PravegaServer) -> PravegaConfig:
    """The configuration of a client of `pravega_emulator`."""
    return pravega_emulator.config
