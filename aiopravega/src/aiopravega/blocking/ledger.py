"""The blocking forms of key-value tables, of both ledgers, which are in such tables, and of the commit protocol."""

from typing import TypeVar

from aiopravega import ledger as aio
from aiopravega import tables as aio_tables
from aiopravega.blocking.bridge import Face, OpenFace, calls, iterates, shows, waits

L_co = TypeVar("L_co", bound=aio.CommitLedger | aio.CutLedger, covariant=True)


class KeyValueTable(Face[aio_tables.KeyValueTable]):
    """Access to one key-value table; made by `PravegaClient.table`."""

    get = waits(aio_tables.KeyValueTable.get)
    get_all = waits(aio_tables.KeyValueTable.get_all)
    put = waits(aio_tables.KeyValueTable.put)
    put_if_absent = waits(aio_tables.KeyValueTable.put_if_absent)
    replace = waits(aio_tables.KeyValueTable.replace)
    replace_all = waits(aio_tables.KeyValueTable.replace_all)
    remove = waits(aio_tables.KeyValueTable.remove)
    remove_all = waits(aio_tables.KeyValueTable.remove_all)
    entries = iterates(aio_tables.KeyValueTable.entries)
    key_pages = iterates(aio_tables.KeyValueTable.key_pages)
    key_versions = iterates(aio_tables.KeyValueTable.key_versions)


class LedgerFace(Face[L_co]):
    """A ledger in a key-value table."""

    @property
    def scope(self) -> str:
        """The scope of its table."""
        return self.asynchronous.scope

    @property
    def table(self) -> str:
        """The name of its table."""
        return self.asynchronous.table


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


class CommitLedger(LedgerFace[aio.CommitLedger]):
    """The records of writes in a key-value table; made by `PravegaClient.commit_ledger`."""

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
    landed = waits(aio.CommitLedger.landed)
    forget = waits(aio.CommitLedger.forget)
    forget_newest = waits(aio.CommitLedger.forget_newest)
    finish = waits(aio.CommitLedger.finish)


class CutLedger(LedgerFace[aio.CutLedger]):
    """The ranges of intervals in a key-value table; made by `PravegaClient.cut_ledger`."""

    create = waits(aio.CutLedger.create)
    find = waits(aio.CutLedger.find)
    recorded = waits(aio.CutLedger.recorded)
    last = waits(aio.CutLedger.last)
    records = waits(aio.CutLedger.records)
    consumers = waits(aio.CutLedger.consumers)
    consumer_keys = waits(aio.CutLedger.consumer_keys)
    newest = waits(aio.CutLedger.newest)
    record = waits(aio.CutLedger.record)
    claim = waits(aio.CutLedger.claim)
    find_first = waits(aio.CutLedger.find_first)
    find_each = waits(aio.CutLedger.find_each)
    lasts = waits(aio.CutLedger.lasts)
    expect = waits(aio.CutLedger.expect)
    declare = waits(aio.CutLedger.declare)
    begin = waits(aio.CutLedger.begin)
    finish = waits(aio.CutLedger.finish)
    replace = waits(aio.CutLedger.replace)
    fail = waits(aio.CutLedger.fail)
    skip = waits(aio.CutLedger.skip)
    give_back = waits(aio.CutLedger.give_back)
    reopen = waits(aio.CutLedger.reopen)
    forget = waits(aio.CutLedger.forget)
