"""Which example can be started in which way, and the names of the copies that are started."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[3] / "example_dags" / "airflow"


class Way(StrEnum):
    """How a run is started."""

    API = "by_api"
    COMMAND_LINE = "by_command_line"
    SCHEDULE = "by_schedule"
    ASSET = "by_asset"


# Why an example cannot be started in a way.
NOT_STARTED: Final = {
    ("flights_backfill", Way.SCHEDULE): "its parameters start and end have no default: Airflow takes no schedule then",
    ("flights_backfill", Way.ASSET): "its parameters start and end have no default: Airflow takes no schedule then",
    ("flights_month", Way.COMMAND_LINE): "airflow dags trigger gives each run the last month that has ended",
    ("flights_month", Way.ASSET): "it reads the data interval of its run, which runs that assets start do not have",
}
# Files whose DAGs only start each other: `test_partitioned` runs them.
OF_PARTITIONS: Final = ("orders_by_hour",)
# All ways of these take the same streams, one after the other.
SHARED: Final = ("flights_year",)


@dataclass(frozen=True, slots=True)
class Copy:
    """An example as one way starts it."""

    dag_id: str
    scope: str

    @property
    def asset(self) -> str:
        """What starts it, if it is started by an asset that is not its own."""
        return f"pravega://{self.scope}/start"


def copy_of(dag_id: str, way: Way) -> Copy:
    """The names of an example's copy for a way."""
    copy = f"{dag_id}_{way.value}"
    return Copy(copy, (dag_id if dag_id in SHARED else copy).replace("_", "-"))


def is_started(dag_id: str, way: Way) -> bool:
    """Whether an example can be started in a way."""
    return (dag_id, way) not in NOT_STARTED
