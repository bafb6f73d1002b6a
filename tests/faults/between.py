"""Events between two runs of a job: to its streams, its ledger, its checkpoints, or in other jobs."""

import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import count

from tests.faults.case import Case
from tests.faults.field import Field
from tests.faults.process import wait_until
from tests.faults.rows import Rows

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import TransactionState
from aiopravega.ledger import CommitRecord, CommitState, PartitionCommit, ledger_name
from aiopravega.ledger.commits.keys import record_key

Meanwhile = Callable[[Field], None]
Change = Callable[[Field, Case], None]
# What the server with short leases grants at most, and how much later its end shows at the latest.
LEASE_SECONDS = 20
LEASE_ENDS_SECONDS = 6
_DAY = 86_400.0
# Streams of another job. Its writes remove only some records: those that follow their own keys, in either half of the
# table.
_OTHERS = {"others-0": 0, "others-1": 0x80}
# Of the 256 first bytes of keys, so many count as the beginning of a half.
_NEAR = 4


def nothing(_: Field) -> None:
    """The next run starts at once."""


def leases_run_out(field: Field) -> None:
    """Wait until no lease that the server with short leases has granted is left."""
    time.sleep(LEASE_SECONDS + LEASE_ENDS_SECONDS)
    wait_until(lambda: TransactionState.OPEN not in field.recorded_states(), lambda: "leases have not run out")


def streams_scale(field: Field) -> None:
    """Split the segments of all streams."""
    field.scale(5)


def for_all(change: Change) -> Meanwhile:
    """The same for the streams of all cases."""

    def meanwhile(field: Field) -> None:
        for case in field.cases:
            change(field, case)

    return meanwhile


def sealed(field: Field, case: Case) -> None:
    """Seal the stream."""
    with PravegaClient(field.config) as client:
        client.seal_stream(f"{field.scope}/{case.name}")


def made_again(field: Field, case: Case) -> None:
    """Delete the stream, and make it again under the same name."""
    with PravegaClient(field.config) as client:
        client.delete_stream(f"{field.scope}/{case.name}")
        client.create_stream(f"{field.scope}/{case.name}", ScalingPolicy.fixed(case.segments))


def checkpoint_put_back(field: Field, case: Case) -> None:
    """Make a query's checkpoint what it was after the first micro-batch, as a backup has it."""
    for kind in ("offsets", "commits"):
        folder = field.checkpoint(case) / kind
        for path in folder.iterdir() if folder.exists() else ():
            if path.name.strip(".").removesuffix(".crc") != "0":
                path.unlink()


def checkpoint_deleted(field: Field, case: Case) -> None:
    """Delete a query's checkpoint."""
    shutil.rmtree(field.checkpoint(case))


def ledger_deleted(field: Field, case: Case) -> None:
    """Delete the table of the commit ledger."""
    scope, table = ledger_name(case.options.get("commit_ledger", "").format(scope=field.scope), field.scope)
    with PravegaClient(field.config) as client:
        client.delete_table(scope, table)


def made_old(field: Field, case: Case) -> None:
    """Let all that the ledger has of the stream be two days old."""
    ago = timedelta(days=2)
    with PravegaClient(field.config) as client:
        ledger = client.commit_ledger(field.scope)
        for stored in list(ledger.records()):
            record = stored.record
            if record.sink.stream == case.name and record.done_at and record.witnessed_at:
                times = {"done_at": record.done_at - ago, "witnessed_at": record.witnessed_at - ago}
                ledger.amend(stored, record.model_copy(update=times))


def another_job_forgets(field: Field) -> None:
    """Let another job, with the same ledger, remember its writes for a day, and remove the old records of all.

    Its clock is 40 days ahead. It is certain that it removes records: it removes one that is old by every clock, which
    is put there for it.
    """
    old = _put_old_record(field, StreamName(field.scope, "long-ago"))
    writes = [
        {
            "stream": stream,
            "kind": "batch",
            "write_id": _removing_id(StreamName(field.scope, stream), half),
            "rows": asdict(Rows(seed=1)),
            "options": {"commit_ledger_retain_days": "1"},
        }
        for stream, half in _OTHERS.items()
    ]
    skew = 40 * _DAY
    job = field.start_writes(writes, plan=field.clock_plan({"driver": skew, "executor": skew}))
    job.end()
    assert {field.left_in(job, stream) for stream in _OTHERS} == {"written"}, job.said()
    with PravegaClient(field.config) as client:
        assert client.commit_ledger(field.scope).lookup(old.sink, old.write_id) is None, "no old record was removed"


def _removing_id(stream: StreamName, half: int) -> str:
    """The id of a write that removes old records, from the beginning of a half of all keys on.

    Not all writes do, but all whose keys end like this. Each reads some tens of keys, and notes of killed attempts are
    among them: from the middle of a half on, it could miss the first ones.
    """
    keys = ((name, record_key(stream, name)) for name in map(str, count()))
    return next(name for name, key in keys if not key[-1] and half <= key[0] < half + _NEAR)


def _put_old_record(field: Field, stream: StreamName) -> CommitRecord:
    long_ago = datetime.now(UTC) - timedelta(days=60)
    record = CommitRecord(
        state=CommitState.PREPARED,
        sink=stream,
        incarnation=0,
        write_id="old",
        attempt=uuid.uuid4(),
        partitions=(PartitionCommit(partition=0, txn_id=uuid.uuid4(), events=1, bytes=9, checksum=""),),
        prepared_at=long_ago,
        retain=_DAY,
        witnessed_at=long_ago,
    )
    with PravegaClient(field.config) as client:
        ledger = client.commit_ledger(field.scope)
        ledger.amend(ledger.prepare(record), record.done(long_ago))
    return record
