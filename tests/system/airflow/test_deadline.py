"""A run that misses its deadline on real processes says what is missing, and one that is done in time says nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

DAG_ID = "deadline_rides"
RIDES = StreamName("system-deadline", "rides")
BY_EIGHT = timedelta(hours=32)


def test_a_day_that_is_not_complete_by_its_deadline_is_reported(airflow, client, record_property):
    api, pages = airflow.api, airflow.home / "pages"
    assert client.create_scope(RIDES.scope)
    assert client.create_stream(RIDES, timestamp_aggregation_timeout=timedelta(minutes=5))
    # The deadline of this day passes in a minute, that of the day after in a day.
    late = datetime.now(UTC).replace(microsecond=0) - BY_EIGHT + timedelta(minutes=1)
    in_time = late + timedelta(days=1)
    known = late + timedelta(hours=21, minutes=40)

    def note(time):
        client.note_time(RIDES, "shop", time)
        next(mark for mark in client.watermarks(RIDES, follow=True) if mark.lower >= int(time.timestamp() * 1000))

    note(late)
    with client.writer(RIDES) as writer:
        writer.write(b"a ride")
    note(known)
    api.unpause(DAG_ID)
    run_id = api.trigger(DAG_ID, logical_date=late.isoformat())
    api.wait_for_task(DAG_ID, run_id, "wait", "deferred")
    api.wait(pages.exists, "somebody is informed")
    [page] = pages.read_text().splitlines()
    assert page.startswith(f"the run {run_id} of {DAG_ID} (to be done by {late + BY_EIGHT:%Y-%m-%d %H:%M}")
    assert f"has missed its deadline: {RIDES} is complete until {known.isoformat()}" in page
    assert "'deadline_rides/wait' is 14 bytes behind" in page

    note(in_time + timedelta(days=1))
    api.wait_for_run(DAG_ID, run_id)
    other = api.trigger(DAG_ID, logical_date=in_time.isoformat())
    api.wait_for_run(DAG_ID, other)
    assert pages.read_text().splitlines() == [page]
    record_property("page", page)
