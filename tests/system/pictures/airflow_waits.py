"""Pictures of what people see of partitions, of a missed deadline, and of a question that a task asks."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tests.system.airflow.components import Components
from tests.system.pictures.airflow_pages import OF, processes
from tests.system.pictures.browser import Browser

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient

DAGS: Final = Path(__file__).with_name("waiting_dags")
ORDERS: Final = StreamName("shop", "orders")
DAY: Final = datetime(2026, 1, 5, tzinfo=UTC)
COMPLETE: Final = 3  # hours
BY_EIGHT: Final = timedelta(hours=32)


def fill(client: PravegaClient) -> None:
    """Write orders of a day, and note that its first hours are complete."""
    client.create_scope(ORDERS.scope)
    client.create_stream(ORDERS, timestamp_aggregation_timeout=timedelta(minutes=10))
    client.note_time(ORDERS, "shop", DAY)
    next(iter(client.watermarks(ORDERS, follow=True)))
    with client.writer(ORDERS) as writer:
        for number in range(240):
            at = DAY + timedelta(minutes=6 * number)
            writer.write(f'{{"id": {number}, "ordered_at": "{at.isoformat()}"}}'.encode(), str(number))
    client.note_time(ORDERS, "shop", DAY + timedelta(hours=COMPLETE))


def take() -> None:
    """Start Airflow, let some hours of a backfill be done, a deadline pass and a task ask, and take the pictures."""
    with Browser() as browser, processes(DAGS, fill) as (airflow, client):
        work(airflow, client)
        pictures(airflow, browser)


def work(airflow: Components, client: PravegaClient) -> None:
    """Some hours are there, a day is late, and a loss has to be decided about."""
    api = airflow.api
    api.unpause("orders_by_hour", "orders_by_day", "orders_of_day", "orders_kept")
    last = DAY + timedelta(hours=COMPLETE)
    dates = ["--from-date", DAY.isoformat(), "--to-date", last.isoformat()]
    airflow.run("backfill", "create", "--dag-id", "orders_by_hour", *dates)
    late = datetime.now(UTC) - BY_EIGHT
    day = api.trigger("orders_of_day", logical_date=late.isoformat())
    api.wait_for_task("orders_of_day", day, "wait", "deferred")

    def states() -> list[str]:
        return [run["state"] for run in api.all_runs("orders_by_hour")]

    api.wait(lambda: states().count("success") == COMPLETE, "some hours are there")
    api.wait_for_run("orders_kept", api.trigger("orders_kept"))
    with client.writer(ORDERS) as writer:
        writer.write(b"{}")
    client.truncate_stream(client.tail(ORDERS))
    api.question("orders_kept", api.trigger("orders_kept"), "decide")


def pictures(airflow: Components, browser: Browser) -> None:
    """Take them all."""
    api = airflow.api
    browser.open(f"{api.address}/auth/token/login")
    [asset] = api.request("GET", "assets", params={"name_pattern": "orders_of_hour"})["assets"]
    browser.open(f"{api.address}/assets/{asset['id']}")
    browser.see("//*[contains(text(), '2026-01-05T02')]")
    browser.picture(OF / "airflow-partitions.png")

    browser.open(f"{api.address}/deadlines")
    browser.see("//*[contains(text(), 'orders_of_day')]")
    browser.picture(OF / "airflow-deadline.png")

    run_id = quote(api.runs("orders_kept")[-1], safe="")
    browser.open(f"{api.address}/dags/orders_kept/runs/{run_id}/tasks/decide/required_actions")
    browser.see("//*[contains(text(), 'Accept the loss')]")
    browser.picture(OF / "airflow-decision.png")
