"""The settings of Debezium Server as a check, and the streams that it needs by a job, on a real cluster."""

import dagster as dg
import pytest
from tests.integration.debezium_settings import GOOD, PASSWORD

from aiopravega.errors import ConfigurationError
from dagster_pravega import (
    LandingDatabase,
    PravegaResource,
    build_debezium_check,
    build_debezium_streams,
    pravega_stream_spec,
)


@pytest.fixture
def settings(scope, tmp_path):
    def settings(more="", flush=0):
        file = tmp_path / "application.properties"
        file.write_text(GOOD.format(scope=scope, password=PASSWORD, flush=flush) + more)
        return str(file)

    return settings


@pytest.fixture
def evaluate(scope, instance, pravega_config):
    def evaluate(settings, more=(), **arguments):
        spec = pravega_stream_spec(f"{scope}/inv.public.orders")
        check = build_debezium_check(spec, settings=settings, **arguments)
        resources = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri), **dict(more)}
        job = dg.Definitions(assets=[spec], asset_checks=[check], resources=resources)
        selection = dg.AssetSelection.checks(check)
        done = dg.define_asset_job("job", selection=selection)
        found = dg.Definitions.merge(job, dg.Definitions(jobs=[done])).resolve_job_def("job")
        [evaluation] = found.execute_in_process(instance=instance).get_asset_check_evaluations()
        return evaluation

    return evaluate


def test_a_check_names_what_does_harm_and_a_job_makes_the_streams(evaluate, settings, instance, pravega_config):
    file = settings()
    lacking = evaluate(file)
    assert (lacking.passed, lacking.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "the stream inv.public.orders is not in it" in lacking.description

    job = build_debezium_streams(file)
    resources = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)}
    made = [job.execute_in_process(resources=resources, instance=instance).output_for_node(job.name) for _ in range(2)]
    assert [each["made"] for each in made] == [["inv.public.orders"], []]
    assert evaluate(file).passed

    warned = evaluate(settings(flush=60000))
    assert (warned.passed, warned.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert evaluate(file, fail_on=["doubles"]).severity is dg.AssetCheckSeverity.ERROR
    lost = evaluate(settings("debezium.source.tombstones.on.delete=true\n"))
    assert lost.severity is dg.AssetCheckSeverity.ERROR
    records = [str(record) for run in instance.get_runs() for record in instance.all_logs(run.run_id)]
    assert not [record for record in records if PASSWORD in record]


def test_harms_that_there_are_not_are_refused():
    with pytest.raises(ConfigurationError, match="must be a list of loses, spoils, stops, breaks, hides, doubles"):
        build_debezium_check("orders", settings="/etc/debezium", fail_on=["burns"])


def test_the_database_is_looked_at_too(evaluate, settings, postgres_dsn):
    database = {"shop": LandingDatabase(dsn=postgres_dsn)}
    found = evaluate(settings(), database, database_key="shop", measure_rows=True)
    assert found.severity is dg.AssetCheckSeverity.ERROR
    assert "fails: wal_level is replica: stops Debezium" in found.description
    with pytest.raises(ConfigurationError, match="measure_rows needs database_key"):
        build_debezium_check("orders", settings="/etc/debezium", measure_rows=True)
