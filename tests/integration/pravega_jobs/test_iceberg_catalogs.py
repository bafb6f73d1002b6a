"""Tables of Iceberg in catalogs of other kinds: the project's REST server, PostgreSQL, and Glue as moto plays it."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import polars as pl
import pytest
from moto.server import ThreadedMotoServer
from pyiceberg.catalog import load_catalog
from tests.integration.pravega_jobs.landing_job import IcebergLake, landing, rows
from tests.integration.pravega_jobs.test_landing_contract import (
    test_a_table_that_was_taken_back_relands_what_it_lacks_once,
    test_an_interval_lands_once_and_only_a_newer_generation_replaces_it,
    test_of_runs_of_one_interval_at_once_one_lands,
    test_runs_of_several_intervals_at_once_all_land,
)
from tests.java.iceberg_rest import IcebergRest
from tests.system.servers import free_ports

from pravega_jobs.landing import Action, Iceberg

# What all catalogs must do is the contract of tables.
__all__ = [
    "test_a_table_that_was_taken_back_relands_what_it_lacks_once",
    "test_an_interval_lands_once_and_only_a_newer_generation_replaces_it",
    "test_of_runs_of_one_interval_at_once_one_lands",
    "test_runs_of_several_intervals_at_once_all_land",
]


class CatalogLake(IcebergLake):
    """A namespace of its own in a catalog that other tests use as well.

    Args:
        where: the folder of the tables.
        catalog: the properties of the catalog.
    """

    def __init__(self, where: str, catalog: Mapping[str, str]) -> None:
        super().__init__(where)
        self.catalog = catalog
        self.namespace = f"shop{uuid.uuid4().hex}"
        load_catalog("default", **catalog).create_namespace(self.namespace)

    @property
    def properties(self) -> dict[str, str]:
        return dict(self.catalog)

    def table(self, name: str = "orders") -> Iceberg:
        return Iceberg(f"{self.namespace}.{name}", properties=self.properties)


@pytest.fixture(scope="module", params=["rest", "postgresql"])
def catalog(request, tmp_path_factory) -> Iterator[Mapping[str, str]]:
    """The properties of a catalog."""
    folder = tmp_path_factory.mktemp("catalog")
    with ExitStack() as running:
        if request.param == "rest":
            server = running.enter_context(IcebergRest(free_ports(1)[0], folder))
            yield {"uri": server.uri}
        elif request.param == "postgresql":
            uri = request.getfixturevalue("postgres_dsn").replace("postgresql://", "postgresql+psycopg2://")
            yield {"type": "sql", "uri": uri, "warehouse": f"file://{folder}"}
        else:
            glue = ThreadedMotoServer(port=free_ports(1)[0])
            glue.start()
            running.callback(glue.stop)
            keys = {"glue.access-key-id": "id", "glue.secret-access-key": "secret", "glue.region": "eu-west-1"}
            yield {
                "type": "glue",
                "glue.endpoint": f"http://127.0.0.1:{glue.get_host_and_port()[1]}",
                "warehouse": f"file://{folder}",
                **keys,
            }


@pytest.fixture
def lake(catalog, tmp_path) -> CatalogLake:
    return CatalogLake(str(tmp_path), catalog)


# The Glue of moto lets both of two commits at once win, as that of AWS does not: no test of it runs two at once.
@pytest.mark.parametrize("catalog", ["rest", "postgresql", "glue"], indirect=True)
def test_another_reader_finds_the_rows_that_were_landed(lake):
    table = lake.table()
    assert lake.land(table, landing("monday"), 1) is Action.APPEND
    assert lake.land(table, landing("monday", generation=2), 4) is Action.REPLACE
    found = pl.scan_iceberg(table.load().metadata_location).select("_interval", "id").collect()
    assert sorted((interval, number or 0) for interval, number in found.rows()) == rows("monday", 4)
