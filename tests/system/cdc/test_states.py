"""A real Debezium between a real database and a real Pravega: what Spark reads at a cut is what the database had."""

import pytest
from tests.system.cdc.load import Load
from tests.system.cdc.shop import Shop
from tests.system.cdc.tables import assert_rows, state

from aiopravega.blocking import PravegaClient
from pravega_jobs.debezium.server.report import check_debezium

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]


def test_settings_that_the_check_passes_are_those_that_run(shop: Shop):
    with PravegaClient(shop.config) as client:
        report = client.run(check_debezium(client.asynchronous, shop.debezium.settings))
    assert report.passed, report.table()
    assert not report.findings, report.table()


def test_the_table_at_each_cut_is_the_databases(shop: Shop, spark):
    with Load(shop.database, seed=1) as load:
        for _ in range(3):
            load.more(40)
            for table, moment in shop.moments(load).items():
                assert_rows(state(spark, shop.config, table, moment.cut), table, moment.rows)
