"""The upkeep of a table of any kind that has one."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing import targets
from pravega_jobs.landing.table_kind import KindUpkeep, LandingTable
from pravega_jobs.upkeep.rules import KEEP, TARGET_FILE_BYTES, Backlog, UpkeepRules, Upkept


def keep_up(
    table: LandingTable | str,
    *,
    target_file_bytes: int = TARGET_FILE_BYTES,
    keep: timedelta = KEEP,
    dry_run: bool = False,
) -> Upkept:
    """Put small files together, and remove what no reader and no run needs: of a table of Delta or Iceberg.

    Rows, notes and holdings stay. It may run at any time, also beside landings, merges and another upkeep. One that was
    killed is repeated.

    Args:
        table: `delta:/folder`, `delta:s3://bucket/path` or `iceberg:catalog/namespace.table`, or the table that
            `table_of` gives for them.
        target_file_bytes: the size that files are put together to.
        keep: what was a part of the table within this time stays readable. It must be longer than the longest job that
            reads the table, and than the longest job of another program that writes it.
        dry_run: True to change nothing, and report what would be done now.

    Returns:
        Numbers of files, snapshots and bytes.

    Raises:
        ConfigurationError: the text names no table, the kind has no upkeep, the table does not exist, or has parts
            that are not understood; or a setting cannot work.
        LandingError: the table could not be changed.
        TableUnavailableError: the table's server does not answer, or others changed the table too often meanwhile.
    """
    return upkeep_of(table)(UpkeepRules(target_file_bytes, keep, dry_run))


def upkeep_of(table: LandingTable | str) -> Callable[[UpkeepRules], Upkept]:
    """The upkeep of a table. No server is asked.

    Raises:
        ConfigurationError: the text names no table, or the kind of the table has no upkeep.
    """
    upkeep, found = _upkeep_of(table)
    return partial(upkeep.keep_up, found)


def backlog_of(table: LandingTable | str) -> Callable[[UpkeepRules], Backlog]:
    """A function that counts the work that waits for a table's next upkeep. No server is asked before it is called.

    Raises:
        ConfigurationError: the text names no table, or the kind of the table has no upkeep.
    """
    upkeep, found = _upkeep_of(table)
    return partial(upkeep.backlog, found)


def _upkeep_of(table: LandingTable | str) -> tuple[KindUpkeep, LandingTable]:
    found = targets.table_of(table) if isinstance(table, str) else table
    kind = targets.kind_of_table(found)
    if kind is None or kind.upkeep is None:
        title = type(found).__name__ if kind is None else kind.title
        advice = "" if kind is None or not kind.upkeep_advice else f"{kind.upkeep_advice}. "
        forms = targets.forms_of([each for each in targets.KINDS if each.upkeep is not None])
        raise ConfigurationError(f"tables of {title} have no upkeep here. {advice}Use it for {forms}")
    return kind.upkeep, found
