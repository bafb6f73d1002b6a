"""Orders and reports of programs that are submitted to a cluster.

The order is JSON in one variable of the program's environment, without secrets, and in base64: YARN hands variables
over in a shell script, which takes quotes out of them, and does what `$(…)` says. The report is an entry in a key-value
table of Pravega, so that it arrives from any host, and a job that was started again finds it. Each submission puts its
own name into the entry before the program starts. A program starts and reports only while its name is there: an
abandoned program reads nothing, or, if it has begun, changes nothing.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

from aiopravega.client import PravegaClient
from aiopravega.config import ENVIRONMENT_PREFIX
from aiopravega.errors import ConfigurationError, LedgerError, TableConflictError, TableNotFoundError
from aiopravega.ledger.stored_json import object_in, with_checksum, without_checksum
from aiopravega.tables import TableEntry
from pravega_jobs.remote.orders import WorkOrder

WORK_VARIABLE: Final = f"{ENVIRONMENT_PREFIX}SUBMITTED_WORK"
TABLE: Final = "job-reports"
LARGEST_REPORT: Final = 512 * 1024
_KEY_LENGTH: Final = hashlib.sha256().digest_size
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class ReportAddress:
    """The address of a job's report: the table `scope/job-reports`, the name of the job, and of its submission."""

    scope: str
    job: str
    submission: str

    @property
    def key(self) -> bytes:
        """The key of the entry, the same for all submissions of the job."""
        return hashlib.sha256(self.job.encode()).digest()


@dataclass(frozen=True, slots=True)
class SubmittedWork:
    """The order of a program, and the address of its report."""

    work: WorkOrder
    address: ReportAddress

    def to_environment(self) -> dict[str, str]:
        """The variable of the program's environment, without secrets."""
        address = {"scope": self.address.scope, "job": self.address.job, "submission": self.address.submission}
        text = json.dumps({"work": self.work.to_json(), "address": address})
        return {WORK_VARIABLE: b64encode(text.encode()).decode()}

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The order and the address that the variable has.

        Raises:
            ConfigurationError: the text is not an order, another release wrote it, or the environment lacks a secret.
        """
        try:
            given = json.loads(b64decode(text, validate=True))
            work, address = given["work"], ReportAddress(**given["address"])
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(
                f"the variable {WORK_VARIABLE} is not what PravegaSparkSubmitOperator sets ({error!r:.100}): pass it "
                "on to the driver as it is, and install the same release of aiopravega here and where Airflow is"
            ) from None
        return cls(WorkOrder.from_json(work), address)


@dataclass(frozen=True, slots=True)
class Submission:
    """An entry: the newest submission of a job.

    `work` names the order, so that a further try knows whether its own work was submitted; `driver` is the cluster's
    id of the program, as soon as it is known; `watcher` names the try that waits for its end; `progress` is the last
    line about Spark's stages. `report` has the results, or why the program has failed; None: it has not reported.
    """

    submission: str
    report: Mapping[str, Any] | None = None
    work: str | None = None
    watcher: str | None = None
    driver: str | None = None
    progress: str | None = None

    def to_value(self) -> bytes:
        """The entry as the value of a table."""
        return with_checksum(json.dumps(asdict(self)))

    @classmethod
    def of(cls, entry: TableEntry) -> Self:
        """The submission that an entry has.

        Raises:
            LedgerError: the entry is damaged, or of another release.
        """
        try:
            found = object_in(without_checksum(entry.value))
        except ValueError as error:
            raise LedgerError(f"an entry of {TABLE} cannot be read: {error}") from None
        try:
            return cls(**found or {})
        except TypeError:
            raise LedgerError(f"an entry of {TABLE} is not the report of a job that this release reads") from None


class JobReports:
    """The reports of submitted jobs.

    Args:
        client: a connected client.
        address: the address of one job's report.
    """

    def __init__(self, client: PravegaClient, address: ReportAddress) -> None:
        self._client = client
        self._address = address
        self._table = client.table(address.scope, TABLE)

    async def expect(self) -> None:
        """Expect the report of this submission; reports of earlier ones are refused from now on.

        Raises:
            ScopeNotFoundError: the scope does not exist.
        """
        await self._table.create_if_missing(_KEY_LENGTH)
        await self._table.put(self._address.key, Submission(self._address.submission).to_value())

    async def expect_after(self, before: tuple[Submission, int] | None, work: str, watcher: str) -> None:
        """Expect the report of this submission, if the newest one is still `before`, as `newest` has given it.

        Raises:
            ScopeNotFoundError: the scope does not exist.
            TableConflictError: the job was submitted again, or its program has started, meanwhile.
        """
        value = Submission(self._address.submission, work=work, watcher=watcher).to_value()
        if before is not None:
            await self._table.replace(self._address.key, value, before[1])
            return
        await self._table.create_if_missing(_KEY_LENGTH)
        await self._table.put_if_absent(self._address.key, value)

    async def newest(self) -> tuple[Submission, int] | None:
        """The newest submission of the job, whatever its name, with the version of its entry; None: there is none."""
        try:
            entry = await self._table.get(self._address.key)
        except TableNotFoundError:
            return None
        return None if entry is None else (Submission.of(entry), entry.version)

    async def started(self, driver: str | None) -> None:
        """Note that the program of this submission begins, on a driver that the cluster knows by this id.

        Raises:
            LedgerError: the job was submitted again meanwhile: this program must not begin.
        """
        await self._change(lambda found: replace(found, driver=found.driver or driver))

    async def watched(self, driver: str, watcher: str) -> None:
        """Note the driver of this submission, and the try that waits for its end from now on.

        Raises:
            LedgerError: the job was submitted again meanwhile.
        """
        await self._change(lambda found: replace(found, driver=driver, watcher=watcher))

    async def progressed(self, line: str) -> None:
        """Note how far the program is.

        Raises:
            LedgerError: the job was submitted again meanwhile.
        """
        await self._change(lambda found: replace(found, progress=line))

    async def report(self, report: Mapping[str, Any]) -> None:
        """Store the report of the program: its results, or why it has failed.

        Raises:
            ConfigurationError: the report is longer than 512 KiB.
            LedgerError: the job was submitted again meanwhile: this report is not expected any more.
        """

        def reported(found: Submission) -> Submission:
            changed = replace(found, report=report)
            if (size := len(changed.to_value())) > LARGEST_REPORT:
                raise ConfigurationError(f"the report has {size:,} bytes, but at most {LARGEST_REPORT:,} are kept")
            return changed

        await self._change(reported)

    async def find(self) -> Mapping[str, Any] | None:
        """The report of this submission's program; None: it has not reported yet, or the job was submitted again."""
        newest = await self.newest()
        return None if newest is None or newest[0].submission != self._address.submission else newest[0].report

    async def forget(self) -> None:
        """Remove the entry, after its report was recorded in the scheduler, or to give up its program.

        The entry of a newer submission stays.

        Raises:
            TableConflictError: the program changes the entry all the time.
        """
        for left in reversed(range(_TRIES)):
            newest = await self.newest()
            if newest is None or newest[0].submission != self._address.submission:
                return
            try:
                await self._table.remove(self._address.key, newest[1])
            except TableConflictError:
                if left:
                    continue
                raise
            return

    async def _change(self, change: Callable[[Submission], Submission]) -> None:
        while True:
            newest = await self.newest()
            if newest is None or newest[0].submission != self._address.submission:
                raise LedgerError(
                    f"the work of {self._address.job!r} was submitted again, or given up, so that this program must "
                    "not begin, and its report is not wanted; what it has written is there once"
                )
            try:
                await self._table.replace(self._address.key, change(newest[0]).to_value(), newest[1])
            except TableConflictError:
                continue
            return
