"""The named points of a write: which function of the real code each of them is, and how its stream is found there.

A point has two sides: before the function is entered, and after it has returned. The code knows nothing of this.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

Arguments = tuple[Any, ...]


class Point(NamedTuple):
    """A function of the real code, `owner.function` of `module`; `words` are for the table of cases.

    `stream_of` gives the stream's name from the arguments, of which the first is the object; None: the call is not
    one that counts.
    """

    module: str
    owner: str
    function: str
    words: str
    stream_of: Callable[[Arguments], str | None]


def _named(arguments: Arguments) -> str:
    """The stream is the first argument: a `StreamName`."""
    return str(arguments[1].stream)


def _of_record(arguments: Arguments) -> str:
    """The first argument is a record of the ledger."""
    return str(arguments[1].sink.stream)


def _of_transaction(arguments: Arguments) -> str:
    return str(arguments[0].stream.stream)


def _of_all_transactions(arguments: Arguments) -> str:
    return str(arguments[0]._stream.stream)


def _of_last_acknowledgement(arguments: Arguments) -> str | None:
    """Only the acknowledgement of all that the appender has taken so far, and not before it has taken anything."""
    appender, event_number = arguments
    whole = event_number > 0 and event_number >= appender._last_event
    return str(appender.segment.stream.stream) if whole else None


_COMMITS = "aiopravega.ledger.commits"

POINTS = {
    "begin": Point(f"{_COMMITS}.protocol", "CommitProtocol", "begin", "the driver reads the records", _named),
    "lookup": Point(f"{_COMMITS}.ledger", "CommitLedger", "lookup", "the ledger's record is read", _named),
    "open": Point(
        "aiopravega.control.transactions", "TransactionCalls", "create_transaction", "a transaction is opened", _named
    ),
    # Stopped in `traps`, between two pieces of one block.
    "block": Point("aiopravega.net.connection", "Connection", "send", "a block is sent", lambda _: None),
    "acknowledgement": Point(
        "aiopravega.write.appender",
        "SegmentAppender",
        "_acknowledge",
        "the acknowledgement of the last block",
        _of_last_acknowledgement,
    ),
    "flush": Point(
        "aiopravega.write.transaction", "Transaction", "flush", "all events are acknowledged", _of_transaction
    ),
    "leave": Point(
        "aiopravega.write.transaction", "Transaction", "detach", "a task leaves its transaction", _of_transaction
    ),
    "hold": Point(
        f"{_COMMITS}.transactions",
        "TransactionSet",
        "hold",
        "the driver renews all leases",
        _of_all_transactions,
    ),
    "prepared": Point(f"{_COMMITS}.ledger", "CommitLedger", "prepare", "`prepared` is put", _of_record),
    "commit": Point(
        "aiopravega.control.transactions", "TransactionCalls", "commit_transaction", "a commit is asked for", _named
    ),
    "visible": Point(
        f"{_COMMITS}.transactions",
        "TransactionSet",
        "wait_visible",
        "all commits are visible",
        _of_all_transactions,
    ),
    "done": Point(
        f"{_COMMITS}.ledger",
        "CommitLedger",
        "finish",
        "`done` is put",
        lambda arguments: str(arguments[1].record.sink.stream),
    ),
}
