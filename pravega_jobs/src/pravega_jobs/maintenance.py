"""Maintenance of a commit ledger, as schedulers run it: finish the writes of dead drivers, and remove old records.

It reads the whole ledger. It may run twice, also at the same time.
"""

import logging
from dataclasses import asdict, dataclass
from typing import Any, Final

from aiopravega.bounded import each
from aiopravega.client import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.errors import (
    ConfigurationError,
    PartialCommitError,
    PravegaError,
    PravegaTimeoutError,
    TableConflictError,
)
from aiopravega.ledger import CommitLedger, CommitState, StoredCommit, ledger_name
from aiopravega.ledger.commits.cleanup import expired
from aiopravega.ledger.commits.recovery import ADVICE, Standing, finish_stored

logger = logging.getLogger(__name__)

# Writes that are finished together, and records that are removed together.
_AT_ONCE: Final = 4
_FAILED: Final = "failed"
NEEDS_A_PERSON: Final = frozenset({Standing.PARTIAL, Standing.FORGOTTEN})


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """The findings and actions of maintenance; each write is named with its stream.

    `finished`: writes that were finished now. `lost`: writes without events in their streams, which their next runs
    make. `half_visible`: writes that are in their streams in part, or perhaps, each with advice. `failed`: writes that
    could not be finished now, each with the reason. `expired`: the number of records that were removed.
    """

    ledger: str
    finished: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    half_visible: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    expired: int = 0

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def check(self) -> None:
        """Raise an error if a write is left unfinished.

        Raises:
            PravegaTimeoutError: a write could not be finished now; the next try may succeed.
            PartialCommitError: a write is half visible, and only the same write or a person can mend that.
        """
        if self.failed:
            raise PravegaTimeoutError(f"{self.ledger}: not all writes could be finished now: {'; '.join(self.failed)}")
        if self.half_visible:
            raise PartialCommitError(f"{self.ledger}: writes are half visible: {'; '.join(self.half_visible)}")


def named_ledger(ledger: str | None, config: PravegaConfig) -> tuple[str, str]:
    """Scope and table of a ledger that is named `scope/table`, or `scope` for its default table.

    None: the default table in the configuration's scope.

    Raises:
        ConfigurationError: the name does not have this form, or there is no default scope.
    """
    text = ledger or config.scope
    if not text:
        raise ConfigurationError(
            "no commit ledger given: name it as scope/table, or by its scope alone, or set PRAVEGA_SCOPE"
        )
    return ledger_name(text, text) if "/" in text else ledger_name(None, text)


async def maintain_ledger(client: PravegaClient, scope: str, table: str, *, expire: bool = False) -> LedgerReport:
    """Finish all writes of a ledger that are decided and not done; with `expire`, remove records that may be forgotten.

    A failure with one write does not keep the others from being finished: the report names it (`LedgerReport.check`).

    Args:
        client: a connected client.
        scope: the scope of the ledger's table.
        table: the ledger's table.
        expire: True to remove the records of writes that need not be remembered any more.

    Raises:
        TableNotFoundError: the ledger does not exist.
        LedgerError: a record is not one that this release reads.
        PravegaError: the cluster cannot be reached.
    """
    ledger = client.commit_ledger(scope, table)
    prepared = [stored async for stored in ledger.records() if stored.record.state is CommitState.PREPARED]
    outcomes = await each(lambda stored: _finish(client, ledger, stored), prepared, _AT_ONCE)

    def named(*outcome: str) -> tuple[str, ...]:
        return tuple(text for kind, text in outcomes if kind in outcome)

    removed = await _expire(ledger) if expire else 0
    report = LedgerReport(
        f"{scope}/{table}",
        finished=named(Standing.DONE),
        lost=named(Standing.LOST),
        half_visible=named(*NEEDS_A_PERSON),
        failed=named(_FAILED),
        expired=removed,
    )
    logger.info("maintenance of the commit ledger: %s", report.to_json())
    return report


async def _finish(client: PravegaClient, ledger: CommitLedger, stored: StoredCommit) -> tuple[str, str]:
    """The standing of a write after it was finished as far as possible, and a text about it."""
    name = stored.record.name
    try:
        found = await finish_stored(client.controller, ledger.protocol().finish, stored)
    except PravegaError as error:
        logger.warning("%s is unfinished, and could not be finished: %s", name, error)
        return _FAILED, f"{name}: {error}"
    if found.standing is Standing.UNFINISHED:  # somebody else has changed it meanwhile
        return _FAILED, f"{name} is {found.standing}: {ADVICE[found.standing]}"
    if found.standing in NEEDS_A_PERSON:
        name = f"{name} is {found.standing}: {ADVICE[found.standing]}"
        logger.warning("%s", name)
    return found.standing, name


async def _expire(ledger: CommitLedger) -> int:
    old = await expired(ledger.records())
    return sum(await each(lambda stored: _forget(ledger, stored), old, _AT_ONCE))


async def _forget(ledger: CommitLedger, stored: StoredCommit) -> bool:
    try:
        await ledger.forget(stored)
    except TableConflictError:  # it is written again, or somebody else has removed it
        return False
    return True
