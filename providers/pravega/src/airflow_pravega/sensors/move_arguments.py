"""The conditions that a sensor waits for, from its arguments, once they are rendered."""

from collections.abc import Mapping
from datetime import timedelta

from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.conditions import Combine, MoveCondition
from aiopravega.times import TimeUnit
from airflow_pravega.tasks.arguments import choice_of, optional_number, time_of


def condition_of(
    *,
    min_bytes: object,
    min_events: object,
    quiet_for: timedelta,
    sealed: bool,
    reach: object,
    watermark: object,
    unit: str,
    combine: object,
    max_bytes: object,
    max_events: object,
    transactions: object,
) -> MoveCondition:
    """The conditions, with the names that `PravegaStreamCutSensor` has for them.

    Raises:
        ConfigurationError: they cannot work.
        InvalidStreamCutError: `reach` is not a cut.
    """
    return MoveCondition(
        min_bytes=optional_number("min_bytes", min_bytes),
        quiet_for=quiet_for.total_seconds(),
        sealed=sealed,
        min_events=optional_number("min_events", min_events) or 0,
        max_bytes=optional_number("max_bytes", max_bytes),
        reach=_cut_of(reach),
        watermark=None
        if watermark in (None, "")
        else TimeUnit.parse(unit).first_number(time_of("watermark", watermark)),
        max_events=optional_number("max_events", max_events),
        transactions=str(transactions) if transactions else None,
        combine=choice_of(Combine, "combine", combine),
    )


def _cut_of(value: object) -> StreamCut | None:
    text = value.get("end") if isinstance(value, Mapping) else value
    if text in (None, ""):
        return None
    if not isinstance(text, str):
        raise ConfigurationError(f"reach cannot be {value!r}: give the text of a StreamCut, or a range")
    return StreamCut.from_text(text)
