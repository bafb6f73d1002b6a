"""What a table holds, compared with what the cut ledger says that it should hold. No I/O."""

from collections.abc import Mapping, Sequence

from aiopravega.errors import ConfigurationError
from aiopravega.intervals.reports.verify import FindingKind, IntervalFinding
from aiopravega.ledger import CutRecord, IntervalState
from aiopravega.names import StreamName
from pravega_jobs.landing.rules import Holding
from pravega_jobs.landing.targets import table_of


def compared_table(
    table: str, stream: StreamName, consumers: Mapping[str, Sequence[CutRecord]], *, all_consumers: bool
) -> dict[str, list[IntervalFinding]]:
    """Compare a table with the records of consumers of a stream; returns the differences of each.

    The command `pravega cuts verify --table` finds this function by the entry point `aiopravega.tables`.

    Args:
        table: its text, as `table_of` reads it.
        stream: whose intervals are compared.
        consumers: the records of each, as `CutLedger.records` gives them.
        all_consumers: these are all that the ledger knows.

    Raises:
        ConfigurationError: the text names no table, or the table holds intervals of consumers that are not among all.
    """
    target = table_of(table)
    held, rows = [each for each in target.holdings() if each.stream == stream], target.rows()
    unknown = sorted({each.consumer for each in held} - consumers.keys())
    if all_consumers and unknown:
        raise ConfigurationError(
            f"{table} holds intervals of {unknown} on {stream}, whom the ledger does not know: name the "
            "right ledger by --ledger, or one consumer by --consumer"
        )
    by_consumer = {name: [each for each in held if each.consumer == name] for name in consumers}
    return {name: compare(records, by_consumer[name], rows) for name, records in consumers.items()}


def compare(
    records: Sequence[CutRecord], held: Sequence[Holding], rows: Mapping[tuple[str, str], int] | None = None
) -> list[IntervalFinding]:
    """Everything in which a table differs from the records of one consumer of a stream.

    An interval that is open or has failed may be in the table or not: the next run of it finds out.

    Args:
        records: of the consumer, as `CutLedger.records` gives them.
        held: what the table holds of this consumer and stream.
        rows: the rows that are there, by consumer and interval; None: they were not counted.
    """
    findings = []
    by_name = {each.interval: each for each in held}
    for record in records:
        found = by_name.pop(record.interval, None)
        name = (record.interval,)
        if found is None:
            if record.is_done:
                since = record.state_since.isoformat(timespec="seconds")
                findings.append(
                    IntervalFinding(FindingKind.NOT_HELD, name, f"done at {since}, but the table does not hold it")
                )
        elif record.state in (IntervalState.GIVEN_BACK, IntervalState.SKIPPED):
            text = f"it is {record.state.value} ({record.reason}), but the table holds {found.rows} rows of it"
            findings.append(IntervalFinding(FindingKind.HELD, name, text))
        elif record.range != found.range:
            text = (
                f"the table holds the events from {found.range.start} to {found.range.end}, the ledger has "
                f"{record.range.start} to {record.range.end}"
            )
            findings.append(IntervalFinding(FindingKind.OTHER_RANGE, name, text))
    for found in by_name.values():
        text = f"the table holds {found.rows} rows of it, and the ledger has no such interval"
        findings.append(IntervalFinding(FindingKind.HELD, (found.interval,), text))
    return findings + (_counts(held, rows) if rows is not None else [])


def _counts(held: Sequence[Holding], rows: Mapping[tuple[str, str], int]) -> list[IntervalFinding]:
    """Intervals of which somebody has added or removed rows since they were landed."""
    differ = [(each, rows.get((each.consumer, each.interval), 0)) for each in held]
    return [
        IntervalFinding(FindingKind.ROWS, (each.interval,), f"{each.rows} rows were landed, and {found} are there")
        for each, found in differ
        if found != each.rows
    ]
