"""What a Pravega does, as far as the ledgers ask it: tables with conditional updates, transactions, a stream's ends.

It answers the same messages as a Pravega: the controller's as protobuf, the segment store's as wire commands. It has no
sockets, because a search through all orders of messages starts it many thousand times, and no time of its own: leases
run out, clocks move and streams are made again when the search says so. `tests/integration/aiopravega/ledger/
test_stand_in.py` asks it and a real Pravega the same, and compares the answers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple
from uuid import UUID

import grpc

from aiopravega import wire
from aiopravega.control.convert import txn_id, uuid_of
from aiopravega.control.proto import controller_pb2 as pb

MILLISECONDS: Final = 1000
_START: Final = 1_800_000_000.0
# What a Pravega answers until it has done what is decided.
UNDER_WAY: Final = {"COMMITTED": "COMMITTING", "ABORTED": "ABORTING"}


class RefusedError(Exception):
    """A call that gRPC fails, with its status and details."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code


class Held(NamedTuple):
    """A transaction: its state by Pravega's name, the rows in it, and its stream."""

    state: str
    rows: tuple[str, ...] = ()
    stream: str = ""


@dataclass
class Server:
    """A controller and a segment store. All values in it are immutable, so that a copy is cheap.

    All streams of the scope have one segment, whose number is `first`, and more for those in `again`, which were made
    again so often as they are there. `stream` is the one that is read: `length` is its bytes. Of the others only
    `visible` counts, the rows that are committed for certain, in whatever stream. `store_ahead` says how far the
    segment store's clock is wrong.
    """

    scope: str = "examples"
    stream: str = "delays"
    first: int = 0
    again: tuple[str, ...] = ()
    length: int = 0
    tables: dict[str, int] = field(default_factory=dict)
    entries: dict[tuple[str, bytes], tuple[bytes, int]] = field(default_factory=dict)
    versions: dict[tuple[str, bytes], int] = field(default_factory=dict)
    transactions: dict[UUID, Held] = field(default_factory=dict)
    visible: tuple[str, ...] = ()
    # The rows that a table of another system holds; what is landed again changes nothing.
    landed: tuple[str, ...] = ()
    time: float = _START
    store_ahead: float = 0.0

    def copy(self) -> "Server":
        return replace(
            self,
            tables=dict(self.tables),
            entries=dict(self.entries),
            versions=dict(self.versions),
            transactions=dict(self.transactions),
        )

    def key(self) -> int:
        """A number for all that it holds."""
        return hash(
            (
                self.first,
                self.again,
                self.length,
                tuple(sorted(self.entries.items())),
                tuple(sorted(self.transactions.items())),
                self.visible,
                self.landed,
                self.time,
                self.store_ahead,
            )
        )

    # --- what nobody asks for -----------------------------------------------------------------------------------

    def end_lease(self, txn: UUID) -> None:
        self.transactions[txn] = self.transactions[txn]._replace(state="ABORTED")

    def forget_ended(self) -> None:
        """A day or two pass, after which the controller knows nothing of what has ended."""
        self.transactions = {txn: held for txn, held in self.transactions.items() if held.state not in UNDER_WAY}

    def make_stream_again(self) -> None:
        """Delete the stream, and make one of its name: numbers of segments continue.

        A controller remembers how transactions of the deleted one have ended.
        """
        self.transactions = {txn: held for txn, held in self.transactions.items() if held.state in UNDER_WAY}
        self.first, self.length, self.visible = self.first + 1, 0, ()

    def make_again(self, stream: str) -> None:
        """Delete one stream, and make one of its name; the others stay."""
        gone = {row for held in self.transactions.values() if held.stream == stream for row in held.rows}
        self.visible = tuple(row for row in self.visible if row not in gone)
        self.transactions = {
            txn: held for txn, held in self.transactions.items() if held.stream != stream or held.state in UNDER_WAY
        }
        self.again = (*self.again, stream)

    def first_of(self, stream: str) -> int:
        """The number of the first segment of a stream."""
        return self.first + self.again.count(stream)

    # --- the controller -----------------------------------------------------------------------------------------

    def call(self, method: str, request: Any, new_id: Callable[[], UUID], *, slow: bool = False) -> Any:
        """Answer a call. `new_id` names a new transaction; `slow`: what is decided is still under way.

        Raises:
            RefusedError: the call fails.
        """
        match method:
            case "getURI":
                return pb.NodeUri(endpoint="segment-store", port=1)
            case "createKeyValueTable":
                if request.kvtName in self.tables:
                    return pb.CreateKeyValueTableStatus(status="TABLE_EXISTS")
                self.tables[request.kvtName] = request.primaryKeyLength
                return pb.CreateKeyValueTableStatus(status="SUCCESS")
            case "getKeyValueTableConfiguration":
                if request.kvtName not in self.tables:
                    return pb.KeyValueTableConfigResponse(status="TABLE_NOT_FOUND")
                config = pb.KeyValueTableConfig(
                    scope=self.scope,
                    kvtName=request.kvtName,
                    partitionCount=1,
                    primaryKeyLength=self.tables[request.kvtName],
                )
                return pb.KeyValueTableConfigResponse(status="SUCCESS", config=config)
            case "getCurrentSegmentsKeyValueTable":
                if request.kvtName not in self.tables:
                    raise RefusedError(grpc.StatusCode.NOT_FOUND, "no such table")
                return pb.SegmentRanges(segmentRanges=[pb.SegmentRange(segmentId={"segmentId": 0}, maxKey=1.0)])
            case "getCurrentSegments" | "getEpochSegments":
                of = (request.streamInfo if method == "getEpochSegments" else request).stream
                one = pb.SegmentRange(segmentId={"segmentId": self.first_of(of)}, maxKey=1.0)
                return pb.SegmentRanges(segmentRanges=[one])
            case "getSegments":
                return pb.SegmentsAtTime(segments=[{"segmentId": {"segmentId": self.first}, "offset": 0}])
            case "createTransaction":
                made_id = new_id()
                self.transactions[made_id] = Held("OPEN", stream=request.streamInfo.stream)
                number = self.first_of(request.streamInfo.stream)
                one = pb.SegmentRange(segmentId={"segmentId": number}, maxKey=1.0)
                return pb.CreateTxnResponse(txnId=txn_id(made_id), activeSegments=[one])
            case "pingTransaction":
                return pb.PingTxnStatus(status=self._pinged(request))
            case "commitTransaction":
                return pb.TxnStatus(status=self._end(request, "COMMITTED"))
            case "abortTransaction":
                return pb.TxnStatus(status=self._end(request, "ABORTED"))
            case "checkTransactionState":
                return pb.TxnState(state=self._state(request, slow))
        raise AssertionError(f"the stand-in has no call {method}")

    def _asked(self, request: Any) -> Held | None:
        """The transaction of a request, if it is in the stream that the request names."""
        held = self.transactions.get(uuid_of(request.txnId))
        return held if held is not None and held.stream == request.streamInfo.stream else None

    def _pinged(self, request: Any) -> str:
        held = self._asked(request)
        if held is None:
            return "UNKNOWN"
        return "OK" if held.state == "OPEN" else held.state

    def _end(self, request: Any, wanted: str) -> str:
        held = self._asked(request)
        if held is None:
            return "FAILURE"
        if held.state == "OPEN":
            self.transactions[uuid_of(request.txnId)] = held._replace(state=wanted)
            if wanted == "COMMITTED":
                self.visible = tuple(sorted((*self.visible, *held.rows)))
            return "SUCCESS"
        return "SUCCESS" if held.state == wanted else "FAILURE"

    def _state(self, request: Any, slow: bool) -> str:
        held = self._asked(request)
        if held is None:
            return "UNKNOWN"
        return UNDER_WAY.get(held.state, held.state) if slow else held.state

    def names(self, txn: UUID) -> bool:
        """Whether an entry of a table names a transaction, so that others can find it."""
        spelled = str(txn).encode()
        return any(spelled in value for value, _ in self.entries.values())

    def write(self, txn: UUID, row: str) -> None:
        """Put a row into an open transaction."""
        held = self.transactions[txn]
        self.transactions[txn] = held._replace(rows=(*held.rows, row))

    def land(self, rows: str) -> None:
        """Have a table hold rows, once, as landings do."""
        self.landed = tuple(sorted({*self.landed, rows}))

    # --- the segment store --------------------------------------------------------------------------------------

    def command(self, command: wire.Request) -> wire.Reply:
        """Answer a command about a segment."""
        match command:
            case wire.ReadTable(request_id=number, segment=segment, keys=keys):
                return wire.TableRead(number, segment, tuple(self._entry(segment, key.data) for key in keys))
            case wire.ReadTableKeys(request_id=number, segment=segment):
                first, last = bytes(command.from_key), bytes(command.to_key)
                found = sorted(
                    (key, version)
                    for (of, key), (_, version) in self.entries.items()
                    if of == segment and first <= key and (not last or key <= last)
                )
                page = tuple(wire.TableKey(*each) for each in found[: command.suggested_key_count])
                return wire.TableKeysRead(number, segment, page, b"")
            case wire.UpdateTableEntries(request_id=number, segment=segment, entries=entries):
                failure = self._conflict(number, segment, [key for key, _ in entries])
                if failure is not None:
                    return failure
                versions = tuple(self._put(segment, key.data, value) for key, value in entries)
                return wire.TableEntriesUpdated(number, versions)
            case wire.RemoveTableKeys(request_id=number, segment=segment, keys=keys):
                failure = self._conflict(number, segment, keys)
                if failure is not None:
                    return failure
                for key in keys:
                    self.entries.pop((segment, key.data), None)
                return wire.TableKeysRemoved(number, segment)
            case wire.GetStreamSegmentInfo(request_id=number, segment=segment):
                changed = int((self.time + self.store_ahead) * MILLISECONDS)
                length = self.length if segment.startswith(f"{self.scope}/{self.stream}/") else 0
                return wire.StreamSegmentInfo(number, segment, True, False, False, changed, length)
        raise AssertionError(f"the stand-in has no command {command}")

    def _entry(self, segment: str, key: bytes) -> tuple[wire.TableKey, bytes]:
        value, version = self.entries.get((segment, key), (b"", wire.KEY_NOT_EXISTS))
        return wire.TableKey(key if version >= 0 else b"", version), value

    def _conflict(self, number: int, segment: str, keys: Any) -> wire.Reply | None:
        """Updates of several keys happen as a whole, or not at all."""
        for key in keys:
            known = self.entries.get((segment, key.data), (b"", wire.KEY_NOT_EXISTS))[1]
            if key.version not in (wire.KEY_ANY_VERSION, known):
                kind = wire.TableKeyDoesNotExist if known == wire.KEY_NOT_EXISTS else wire.TableKeyBadVersion
                return kind(number, segment, "")
        return None

    def _put(self, segment: str, key: bytes, value: bytes) -> int:
        version = self.versions.get((segment, key), 0) + 1  # they never come again, not even after a removal
        self.versions[segment, key] = version
        self.entries[segment, key] = value, version
        return version
