"""Days of event times: partitions, and a stream whose events say when they were."""

import json
from datetime import UTC, datetime, timedelta

import dagster as dg

from aiopravega.intervals import interval_name

DAYS = dg.DailyPartitionsDefinition(start_date="2012-12-30", end_date="2013-01-06")
SCHEMA = {"type": "object", "properties": {"at": {"type": "integer"}}}
OPTIONS = {"decode": "json", "schema_text": json.dumps(SCHEMA), "event_time": "at"}
HOURS = (0, 6, 12, 23)


def key(day: int) -> str:
    return f"2013-01-0{day}"


def at(day: int, hour: int = 0) -> int:
    return int((datetime(2013, 1, day, tzinfo=UTC) + timedelta(hours=hour)).timestamp() * 1000)


def interval_of(day: int) -> str:
    return interval_name(*(datetime(2013, 1, number, tzinfo=UTC) for number in (day, day + 1)))
