"""The blocking form of the cut ledger."""

from aiopravega import ledger as aio
from aiopravega.blocking.bridge import Face, waits


class CutLedger(Face[aio.CutLedger]):
    """The ranges of intervals in a key-value table; made by `PravegaClient.cut_ledger`."""

    @property
    def scope(self) -> str:
        """The scope of its table."""
        return self.asynchronous.scope

    @property
    def table(self) -> str:
        """The name of its table."""
        return self.asynchronous.table

    create = waits(aio.CutLedger.create)
    find = waits(aio.CutLedger.find)
    recorded = waits(aio.CutLedger.recorded)
    last = waits(aio.CutLedger.last)
    records = waits(aio.CutLedger.records)
    consumers = waits(aio.CutLedger.consumers)
    record = waits(aio.CutLedger.record)
    claim = waits(aio.CutLedger.claim)
    finish = waits(aio.CutLedger.finish)
    replace = waits(aio.CutLedger.replace)
    fail = waits(aio.CutLedger.fail)
    skip = waits(aio.CutLedger.skip)
    give_back = waits(aio.CutLedger.give_back)
    reopen = waits(aio.CutLedger.reopen)
    forget = waits(aio.CutLedger.forget)
