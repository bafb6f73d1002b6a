"""What the DAGs of these tests have in common: the task that reads the range of a sensor, and a notifier."""

import asyncio
from pathlib import Path
from typing import Any

from airflow.sdk import task

from airflow_pravega.hooks.pravega import PravegaHook


def read_range(cuts: dict[str, str], pravega_conn_id: str = PravegaHook.default_conn_name) -> list[str]:
    """Read a range, and record that its interval is done; the events."""
    with PravegaHook(pravega_conn_id).range(cuts) as taken:
        return [event.data.decode() for event in taken.events()]


@task(retries=3, retry_delay=1)
def read(cuts: Any) -> list[str]:
    """The same as a task."""
    return read_range(cuts)


def _add(text: str, file: str) -> None:
    with Path(file).open("a") as pages:
        pages.write(f"{text}\n")


async def write_down(text: str, file: str) -> None:
    """Add a text to a file, as a notifier of a deadline."""
    await asyncio.to_thread(_add, text, file)
