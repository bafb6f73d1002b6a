"""The clocks, limits and names of the machine that the ledgers read in a search: those of the process that runs."""

import asyncio
from types import ModuleType
from typing import Any, Final

import pytest
from tests.unit.aiopravega.ledger.model.machine import Clock

from aiopravega.intervals.chain import next_range
from aiopravega.ledger.commits import (
    cleanup,
    closing,
    leases,
    pending,
    protocol,
    record,
    recovery,
    table,
    transactions,
    write_job,
)
from aiopravega.ledger.intervals import cut_ledger, cut_record
from aiopravega.ledger.stored_json import myself


class _NoLimits:
    """What `recovery` uses of asyncio and random: a time limit is a fault here, and nothing is random."""

    get_running_loop = staticmethod(asyncio.get_running_loop)

    @staticmethod
    def timeout_at(_: float) -> asyncio.Timeout:
        return asyncio.timeout(None)

    @staticmethod
    def sample(found: list[Any], many: int) -> list[Any]:
        return found[:many]


_READ_TIME: Final[list[ModuleType]] = [
    cleanup,
    closing,
    cut_ledger,
    cut_record,
    leases,
    next_range,
    pending,
    protocol,
    record,
    recovery,
    table,
    transactions,
    write_job,
]


def set_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the ledgers read the clocks of their processes, and the name of this machine only once."""
    who = myself()
    monkeypatch.setattr(recovery, "asyncio", _NoLimits)
    monkeypatch.setattr(recovery, "random", _NoLimits)
    for module in _READ_TIME:
        for name, value in {"datetime": Clock, "time": Clock, "myself": lambda: who}.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
