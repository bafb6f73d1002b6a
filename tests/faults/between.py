"""What happens between two runs of a job: to its streams, its ledger, its checkpoints, or in other jobs."""

import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import count

from tests.faults.field import Field
from tests.faults.process import wait_until
from tests.faults.rows import Rows

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import TransactionState
from aiopravega.ledger import DEFAULT_TABLE, CommitRecord, CommitState, PartitionCommit
from aiopravega.ledger.commits.commit_record import record_key

Meanwhile = Callable[[Field], None]
# What the server with short leases grants at most, and how much later its end shows at the latest.
LEASE_SECONDS = 20
LEASE_ENDS_SECONDS = 6
_DAY = 86_400.0
_OTHERS = "others"


def nothing(_: Field) -> None:
    """The next run starts at once."""


def leases_run_out(field: Field) -> None:
    """Wait until no lease that the server with short leases has granted is left."""
    time.sleep(LEASE_SECONDS + LEASE_ENDS_SECONDS)
    wait_until(lambda: TransactionState.OPEN not in field.recorded_states(), lambda: "leases have not run out")


def streams_scale(field: Field) -> None:
    """Split the segments of all streams."""
    field.scale(5)


def streams_sealed(field: Field) -> None:
    """Seal all streams."""
    with PravegaClient(field.config) as client:
        for name in field.streams:
            client.seal_stream(field.scope, name)


def streams_made_again(field: Field) -> None:
    """Delete all streams, and make them again under the same names."""
    with PravegaClient(field.config) as client:
        for name in field.streams:
            client.delete_stream(field.scope, name)
    field.make_streams()


def checkpoints_put_back(field: Field) -> None:
    """Make every query's checkpoint what it was after the first micro-batch, as a backup has it."""
    for case in field.cases:
        for kind in ("offsets", "commits"):
            folder = field.checkpoint(case) / kind
            for path in folder.iterdir() if folder.exists() else ():
                if path.name.strip(".").removesuffix(".crc") != "0":
                    path.unlink()


def checkpoints_deleted(field: Field) -> None:
    """Delete the checkpoint of every query."""
    for case in field.cases:
        shutil.rmtree(field.checkpoint(case))


def ledger_deleted(field: Field) -> None:
    """Delete the table of the commit ledger."""
    with PravegaClient(field.config) as client:
        assert client.delete_table(field.scope, DEFAULT_TABLE)


def another_job_forgets(field: Field, *, clock_days: float = 0.0) -> None:
    """Let another job, with the same ledger, remember its writes for a day, and remove the old records of all.

    `clock_days` is how far its clock is ahead. It is certain that it removes records: it removes one that is old by
    every clock, which is put there for it.
    """
    stream = StreamName(field.scope, _OTHERS)
    old = _put_old_record(field, StreamName(field.scope, "long-ago"))
    write = {
        "stream": _OTHERS,
        "kind": "batch",
        # Only some writes remove records: those whose keys end like this, among others.
        "write_id": next(name for number in count() if not record_key(stream, name := f"write {number}")[-1]),
        "rows": asdict(Rows(seed=1)),
        "options": {"commit_ledger_retain_days": "1"},
    }
    seconds = clock_days * _DAY
    job = field.start_writes([write], plan=field.clock_plan({"driver": seconds, "executor": seconds}))
    job.end()
    assert field.told(job, _OTHERS) == "written", job.said()
    with PravegaClient(field.config) as client:
        assert client.commit_ledger(field.scope).lookup(old.sink, old.write_id) is None, "no old record was removed"


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
