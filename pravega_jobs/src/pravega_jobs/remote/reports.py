"""Orders and reports of programs that are submitted to a cluster.

The order is JSON in one variable of the program's environment, without secrets. The report is an entry in a key-value
table of Pravega, so that it arrives from any host, and a job that was started again finds it. Each submission puts its
own name into the entry before the program starts. A program reports only while its name is there: an abandoned program
that still runs changes nothing.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from aiopravega.client import PravegaClient
from aiopravega.config import ENVIRONMENT_PREFIX
from aiopravega.errors import ConfigurationError, LedgerError, TableConflictError, TableNotFoundError
from aiopravega.ledger.ledger_table import make_missing
from aiopravega.ledger.stored_json import object_in, with_checksum, without_checksum
from aiopravega.tables import TableEntry
from pravega_jobs.remote.orders import WorkOrder

WORK_VARIABLE: Final = f"{ENVIRONMENT_PREFIX}SUBMITTED_WORK"
TABLE: Final = "job-reports"
LARGEST_REPORT: Final = 512 * 1024
_KEY_LENGTH: Final = hashlib.sha256().digest_size
_SUBMISSION: Final = "submission"
_REPORT: Final = "report"


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
        return {WORK_VARIABLE: json.dumps({"work": self.work.to_json(), "address": address})}

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The order and the address that the variable has.

        Raises:
            ConfigurationError: the text is not an order, another release wrote it, or the environment lacks a secret.
        """
        try:
            given = json.loads(text)
            work, address = given["work"], ReportAddress(**given["address"])
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(
                f"the variable {WORK_VARIABLE} is not what PravegaSparkSubmitOperator sets ({error!r:.100}): pass it "
                "on to the driver as it is, and install the same release of aiopravega here and where Airflow is"
            ) from None
        return cls(WorkOrder.from_json(work), address)


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
        await make_missing(self._client.controller, self._table, self._address.scope, TABLE, _KEY_LENGTH)
        await self._table.put(self._address.key, self._value(None))

    async def report(self, report: Mapping[str, Any]) -> None:
        """Store the report of the program: its results, or why it has failed.

        Raises:
            ConfigurationError: the report is longer than 512 KiB.
            LedgerError: the job was submitted again meanwhile: this report is not expected any more.
        """
        value = self._value(report)
        if len(value) > LARGEST_REPORT:
            raise ConfigurationError(f"the report has {len(value):,} bytes, but at most {LARGEST_REPORT:,} are kept")
        entry = await self._table.get(self._address.key)
        if entry is None or _stored(entry)[_SUBMISSION] != self._address.submission:
            raise self._superseded()
        try:
            await self._table.replace(self._address.key, value, entry.version)
        except TableConflictError:
            raise self._superseded() from None

    async def find(self) -> Mapping[str, Any] | None:
        """The report of the newest submission's program; None: it has not reported yet."""
        try:
            entry = await self._table.get(self._address.key)
        except TableNotFoundError:
            return None
        found: Mapping[str, Any] | None = None if entry is None else _stored(entry)[_REPORT]
        return found

    async def forget(self) -> None:
        """Remove the entry, after its report was recorded in the scheduler."""
        await self._table.remove(self._address.key)

    def _value(self, report: Mapping[str, Any] | None) -> bytes:
        return with_checksum(json.dumps({_SUBMISSION: self._address.submission, _REPORT: report}))

    def _superseded(self) -> LedgerError:
        return LedgerError(
            f"the work of {self._address.job!r} was submitted again while this program ran, so that its report is not "
            "wanted; what it has written is there once"
        )


def _stored(entry: TableEntry) -> dict[str, Any]:
    try:
        found = object_in(without_checksum(entry.value))
    except ValueError as error:
        raise LedgerError(f"an entry of {TABLE} cannot be read: {error}") from None
    if found is None or not {_SUBMISSION, _REPORT} <= found.keys():
        raise LedgerError(f"an entry of {TABLE} is not the report of a job that this release reads")
    return found
