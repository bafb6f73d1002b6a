"""The log of a Delta table as its history: the commits that have led to the table as it is now.

A table that was restored has the commits up to the version that it was restored to, and those after the restore; those
between are still in the log, and not in the history. Logs are cleaned: of commits that are gone nothing is known.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pravega_jobs.landing.locations import (
    CONNECT_SECONDS,
    REQUEST_SECONDS,
    RETRIES,
    RETRY_SECONDS,
    Location,
    in_store,
    no_answer,
)
from pravega_jobs.landing.store_access import current_access

if TYPE_CHECKING:
    from deltalake import DeltaTable

# In the description of a commit of a run that holds no lock: the name of the run.
RUN: Final = "pravega_run"
_RESTORE: Final = "RESTORE"
# The names of commits that make a table, maybe instead of another one, begin like this.
_MADE: Final = ("CREATE", "REPLACE")


def limits_of(path: str) -> dict[str, str] | None:
    """The limits of each request of `deltalake` to the store of a table, and the block's access; None, for a folder.

    Without an access, `deltalake` finds credentials in the environment, or from the machine.
    """
    if not in_store(path):
        return None
    access = current_access()
    return {
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "timeout": f"{REQUEST_SECONDS}s",
        "max_retries": str(RETRIES),
        "retry_timeout": f"{RETRY_SECONDS}s",
        **({} if access is None else access.options()),
    }


def is_committed(table: "DeltaTable | None", run: str, since: int, error: Exception, what: object) -> bool:
    """True if the commit of a run that has failed is in the log all the same: its answer was lost.

    False: another commit was first.

    Args:
        table: the table as it is now; None: there is none.
        run: the name of the run.
        since: the version on which the commit was made.
        error: the error of the commit.
        what: what was committed, for the message.

    Raises:
        TableUnavailableError: neither is known.
    """
    from deltalake.exceptions import CommitFailedError

    commits = 0 if table is None else table.version() - since
    if table is not None and commits > 0 and any(each.get(RUN) == run for each in table.history(commits)):
        return True
    if isinstance(error, CommitFailedError):
        return False
    raise no_answer(what, error) from error


@dataclass(frozen=True, slots=True)
class DeltaCommit:
    """A commit: its operation, its application transactions, and True if it took rows out, maybe to write them again.

    `restored`: the version that it restored; None: it restores none, or one that is not known.
    """

    version: int
    operation: str
    restored: int | None
    transactions: frozenset[tuple[str, int]]
    takes_rows: bool


@dataclass(slots=True)
class DeltaLog:
    """The commits of a table up to a version. Each is read once.

    Args:
        folder: the location of the log's files.
        table: the table.
    """

    folder: Location
    table: "DeltaTable"
    _known: dict[int, DeltaCommit | None] = field(default_factory=dict)
    _seen: set[tuple[str, int]] = field(default_factory=set)
    _left: Iterator[DeltaCommit] | None = None
    _last: DeltaCommit | None = None

    def has(self, transaction: tuple[str, int]) -> bool:
        """True if the commit of a transaction is in the history of the table.

        So it is if the log was cleaned and does not say, unless it says that the commit was undone.

        Args:
            transaction: one that the table has: the id of an application, and its version.
        """
        self._left = self._left or self.history()
        while transaction not in self._seen:
            commit = next(self._left, None)
            if commit is None:
                return self._goes_on() and transaction not in self._there()
            self._seen |= commit.transactions
            self._last = commit
        return True

    def history(self) -> Iterator[DeltaCommit]:
        """The commits that have led to the table, the newest one first, as far as the log has them."""
        version: int | None = self.table.version()
        while version is not None and version >= 0:
            commit = self._commit(version)
            if commit is None:
                return
            yield commit
            if commit.operation.startswith(_MADE):
                return
            version = commit.restored if commit.operation == _RESTORE else version - 1

    def _goes_on(self) -> bool:
        """True if the history continues in commits that are cleaned away; `_last` is the oldest that is left."""
        last = self._last
        return not (
            last is None
            or last.version == 0
            or last.operation.startswith(_MADE)
            or (last.operation == _RESTORE and last.restored is None)
        )

    def _there(self) -> set[tuple[str, int]]:
        """The transactions of all commits that are left, also of those that were undone."""
        found = set[tuple[str, int]]()
        for version in range(self.table.version(), -1, -1):
            commit = self._commit(version)
            if commit is None:
                break
            found |= commit.transactions
        return found

    def _commit(self, version: int) -> DeltaCommit | None:
        if version not in self._known:
            found = self.folder.get(f"{version:020}.json")
            self._known[version] = None if found is None else self._read(version, found.decode().splitlines())
        return self._known[version]

    def _read(self, version: int, lines: list[str]) -> DeltaCommit:
        actions = [json.loads(line) for line in lines if not line.startswith('{"add"')]
        about = _all(actions, "commitInfo")
        operation = str(about[0].get("operation", "")) if about else ""
        return DeltaCommit(
            version,
            operation,
            self._restored_by(version, about[0]) if operation == _RESTORE else None,
            frozenset((each["appId"], each["version"]) for each in _all(actions, "txn")),
            any(each.get("dataChange", True) for each in _all(actions, "remove")),
        )

    def _restored_by(self, version: int, about: dict[str, Any]) -> int | None:
        """The version that a commit has restored: the one that it names; if it names a time, that of the same files."""
        named = (about.get("operationParameters") or {}).get("version")
        if named is not None:
            return int(named)
        wanted = self._files(version)
        if wanted is None:
            return None
        return next((each for each in range(version - 1, -1, -1) if self._files(each) == wanted), None)

    def _files(self, version: int) -> frozenset[str] | None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        address = self.table.table_uri
        try:
            return frozenset(DeltaTable(address, version=version, storage_options=limits_of(address)).file_uris())
        except DeltaError:
            return None  # the log was cleaned


def _all(actions: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [each[name] for each in actions if name in each]
