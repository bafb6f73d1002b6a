"""Chains of sensors that are mapped over streams, which older releases named by the index of a stream in the list.

A chain of today is the task's, and the stream tells it from others: `dag/task`. An older one, `dag/task/INDEX`,
continues: as long as its last range is not done, runs take their turn in it; then the chain of today begins at its end.
"""

from typing import Final

from airflow.sdk import Context

from aiopravega import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.next_start import begin_at
from aiopravega.ledger import CutLedger, Interval, IntervalState, StoredRange
from aiopravega.read import Order

# Airflow's own limit of a mapped list.
_MOST_MAPPED: Final = 1024


async def continued_chain(client: PravegaClient, ledger: CutLedger, interval: Interval) -> str:
    """The consumer whose chain a mapped sensor continues: that of `interval`, or one of an older release.

    Raises:
        ConfigurationError: an older release has made several chains of the stream, and none of them is the furthest.
    """
    consumer = interval.consumer
    if await ledger.last(interval) is not None:
        return consumer
    former = await ledger.lasts(_former(consumer), interval.stream)
    if not former:
        return consumer
    last = await _furthest(client, former, consumer)
    if last.record.is_waiting:
        return last.record.consumer
    await begin_at(ledger, interval, last.end)
    return consumer


async def former_consumer(ledger: CutLedger, context: Context, intervals: list[Interval]) -> str | None:
    """The consumer under which an older release has recorded an interval of a mapped sensor in a run that comes again.

    Args:
        ledger: the cut ledger.
        context: the task's context.
        intervals: the names that the interval can have.
    """
    if context["ti"].try_number == 1:  # a run that is new has taken nothing
        return None
    names = [Interval(name, each.stream, each.name) for each in intervals for name in _former(each.consumer)]
    found = await ledger.find_each(names)
    kept = [each for each in found if each.state is not IntervalState.GIVEN_BACK]
    return kept[0].consumer if kept else None


def _former(consumer: str) -> list[str]:
    return [f"{consumer}/{index}" for index in range(_MOST_MAPPED)]


async def _furthest(client: PravegaClient, lasts: list[StoredRange], consumer: str) -> StoredRange:
    for each in lasts:
        orders = [await client.compare(each.end, other.end) for other in lasts]
        if all(order in (Order.SAME, Order.AFTER) for order in orders):
            return each
    names = ", ".join(repr(each.record.consumer) for each in lasts)
    raise ConfigurationError(
        f"{lasts[0].record.stream} was read under the names {names}, since an older release named a mapped sensor by "
        f"its index in the list, and none of them has read all that the others have. Forget the ones that do not count "
        f"(pravega cuts forget), or give the sensor a name: consumer={consumer!r}"
    )
