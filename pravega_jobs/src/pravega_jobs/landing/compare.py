"""Tables compared with the cut ledger: the holdings that a table has, and those that the ledger says it should have.

`compared_table` is what the command `pravega cuts verify --table` calls, by the entry point `aiopravega.tables`.
"""

from collections.abc import Collection, Mapping, Sequence

from aiopravega.intervals.reports.verify import FindingKind, IntervalFinding
from aiopravega.ledger import CutRecord, IntervalState
from aiopravega.names import StreamName
from pravega_jobs.landing.rules import Holding
from pravega_jobs.landing.targets import table_of


def compared_table(
    text: str, stream: StreamName, consumers: Mapping[str, Sequence[CutRecord]]
) -> dict[str, list[IntervalFinding]]:
    """All differences between a table and the records of a stream, by consumer.

    It counts the rows of the table, unless changes are merged into it.

    Args:
        text: the name of the table, as for `table_of`.
        stream: the stream of the records.
        consumers: the records of each consumer, as `CutLedger.records` gives them.

    Returns:
        The findings of each consumer, and of consumers whose intervals the table holds although they have no records.

    Raises:
        ConfigurationError: the text names no table, or a library is not installed.
        PravegaError: the table cannot be asked, or has a holding of another release.
    """
    table = table_of(text)
    rows = table.rows()
    held, undone = list[Holding](), list[Holding]()
    with table.standing() as found:
        for each in found.notes():
            if each.stream == stream:
                (held if found.counts(each) else undone).append(each)
        taken = found.taken_rows() if rows is None else None
    names = [*consumers, *sorted({each.consumer for each in held} - consumers.keys())]
    return {
        name: compare(
            consumers.get(name, ()),
            [each for each in held if each.consumer == name],
            rows,
            undone=[each.interval for each in undone if each.consumer == name],
            taken=taken,
        )
        for name in names
    }


def compare(
    records: Sequence[CutRecord],
    held: Sequence[Holding],
    rows: Mapping[tuple[str, str], int] | None = None,
    *,
    undone: Collection[str] = (),
    taken: str | None = None,
) -> list[IntervalFinding]:
    """All differences between a table and the records of one consumer of a stream.

    An interval that is open or failed may be in the table or not: the next run of it finds out.

    Args:
        records: the records of the consumer, as `CutLedger.records` gives them.
        held: the table's holdings of this consumer and stream.
        rows: the numbers of rows in the table, by consumer and interval; None: they were not counted.
        undone: names of intervals whose notes do not count any more.
        taken: the change by others that took rows out of a table that changes are merged into.
    """
    findings = []
    by_name = {each.interval: each for each in held}
    for record in records:
        found = by_name.pop(record.interval, None)
        name = (record.interval,)
        if found is None:
            if record.is_done:
                text = f"done at {record.state_since.isoformat(timespec='seconds')}, but the table does not hold it"
                if record.interval in undone:
                    text += " any more: it was restored, rolled back, or dropped and made again"
                findings.append(IntervalFinding(FindingKind.NOT_HELD, name, text))
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
    if taken is not None and held:
        newest = max(held, key=lambda each: each.landed_at).interval
        text = f"others have taken rows out, or changed them, since it was merged: {taken}"
        findings.append(IntervalFinding(FindingKind.ROWS, (newest,), text))
    return findings + (_counts(held, rows) if rows is not None else [])


def _counts(held: Sequence[Holding], rows: Mapping[tuple[str, str], int]) -> list[IntervalFinding]:
    """Intervals whose rows are more or fewer than were landed."""
    differ = [(each, rows.get((each.consumer, each.interval), 0)) for each in held]
    return [
        IntervalFinding(FindingKind.ROWS, (each.interval,), f"{each.rows} rows were landed, and {found} are there")
        for each, found in differ
        if found != each.rows
    ]
