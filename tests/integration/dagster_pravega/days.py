"""Days of event times: partitions, and a stream whose events say when they were."""

import json
from datetime import UTC, datetime, timedelta

import dagster as dg

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
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


def write_days(client: PravegaClient, scope: str) -> StreamName:
    """A stream of four events a day, complete up to January 4."""
    assert client.create_stream(
        f"{scope}/timed", ScalingPolicy.fixed(2), timestamp_aggregation_timeout=timedelta(minutes=5)
    )
    client.note_time(f"{scope}/timed", "writer", at(1))
    next(iter(client.watermarks(f"{scope}/timed", follow=True)))
    times = sorted((at(day, hour) for hour in HOURS for day in (1, 2, 3)), key=lambda time: time % 7)
    with client.writer(f"{scope}/timed") as writer:
        writer.write_many([json.dumps({"at": time}).encode() for time in times], map(str, times))
    client.note_time(f"{scope}/timed", "writer", at(4))
    next(mark for mark in client.watermarks(f"{scope}/timed", follow=True) if mark.lower == at(4))
    return StreamName(scope, "timed")
