"""The blocking form of the commit ledger and its protocol."""

from aiopravega import ledger as aio
from aiopravega.blocking.bridge import Face, OpenFace, calls, iterates, shows, waits


class CommitProtocol(Face[aio.CommitProtocol]):
    """Exactly-once commits over one ledger; made by `CommitLedger.protocol`."""

    begin = waits(aio.CommitProtocol.begin)
    commit = waits(aio.CommitProtocol.commit)
    finish = waits(aio.CommitProtocol.finish)
    finish_unfinished = waits(aio.CommitProtocol.finish_unfinished)
    abandon = waits(aio.CommitProtocol.abandon)


class LeaseKeeper(OpenFace[aio.LeaseKeeper]):
    """Keeps the transactions of an attempt open; made by `CommitLedger.keeper`, used with `with` around each task."""

    keep = waits(aio.LeaseKeeper.keep)
    close = calls(aio.LeaseKeeper.close)
    idle = shows(aio.LeaseKeeper.idle)


class CommitLedger(Face[aio.CommitLedger]):
    """The records of writes in a key-value table; made by `PravegaClient.commit_ledger`."""

    @property
    def scope(self) -> str:
        """The scope of its table."""
        return self.asynchronous.scope

    @property
    def table(self) -> str:
        """The name of its table."""
        return self.asynchronous.table

    create = waits(aio.CommitLedger.create)
    mark = waits(aio.CommitLedger.mark)
    tail = waits(aio.CommitLedger.tail)
    keeper = calls(aio.CommitLedger.keeper, LeaseKeeper)
    protocol = calls(aio.CommitLedger.protocol, CommitProtocol)
    lookup = waits(aio.CommitLedger.lookup)
    stored = waits(aio.CommitLedger.stored)
    prepare = waits(aio.CommitLedger.prepare)
    records = iterates(aio.CommitLedger.records)
    amend = waits(aio.CommitLedger.amend)
    forget = waits(aio.CommitLedger.forget)
    forget_newest = waits(aio.CommitLedger.forget_newest)
    finish = waits(aio.CommitLedger.finish)
