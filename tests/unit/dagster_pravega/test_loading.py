"""All that the package builds can be in one code location, and is loaded as a code server loads it."""

from datetime import timedelta

import dagster as dg

from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    PravegaSparkIOManager,
    SchemaRegistryResource,
    StreamCutPartitions,
    build_cdc_asset,
    build_complete_partitions_sensor,
    build_cut_backfill,
    build_debezium_check,
    build_debezium_streams,
    build_decode_errors_check,
    build_kept_table,
    build_landed_asset,
    build_ledger_maintenance,
    build_observed_stream,
    build_row_count_check,
    build_schema_drift_check,
    build_several_sinks,
    build_stream_cut_sensor,
    build_stream_freshness_check,
    build_stream_lag_check,
    build_table_upkeep,
    pravega_stream_spec,
)

DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01")
NAMES = ("orders", "visits")


def of_stream(name: str) -> dg.Definitions:
    """All of one stream."""
    stream = f"shop/{name}"
    spec = pravega_stream_spec(stream)
    ranges = StreamCutPartitions(stream, consumer="pages")

    @dg.asset(name=f"{name}_of_range", partitions_def=ranges, deps=[spec])
    def of_range() -> None: ...

    @dg.asset(name=f"{name}_of_day", partitions_def=DAYS, deps=[spec])
    def of_day() -> None: ...

    return dg.Definitions(
        assets=[
            build_observed_stream(spec),
            of_range,
            of_day,
            build_landed_asset(spec, key=["lake", name], table=f"parquet:/lake/{name}", since="last"),
            build_kept_table(spec, key=["kept", name], table=f"delta:/kept/{name}"),
            build_several_sinks(spec, "page", name=f"by_page_{name}", into={"/": "shop/root"}, key_prefix=name),
            build_cdc_asset(spec, key=["like", name], table=f"delta:/like/{name}", key_of_rows="id", since="last"),
        ],
        asset_checks=[
            build_stream_lag_check(spec, stream=stream, consumer="pages", warn_bytes=1),
            build_stream_freshness_check(spec, stream=stream, warn_after=timedelta(hours=1)),
            build_row_count_check(spec, stream=stream, min_rows=1),
            build_decode_errors_check(spec, stream=stream, warn_errors=0),
            build_schema_drift_check(of_day, stream=stream),
            build_debezium_check(spec, settings="/etc/debezium/application.properties"),
        ],
        jobs=[
            build_cut_backfill(f"plan_{name}", partitions_def=ranges),
            build_debezium_streams("/etc/debezium/application.properties", name=f"streams_of_{name}"),
            build_ledger_maintenance("shop", name=f"maintain_{name}"),
            build_table_upkeep(f"delta:/like/{name}", name=f"keep_up_{name}"),
        ],
        sensors=[
            build_stream_cut_sensor(f"next_{name}", partitions_def=ranges, target=[of_range]),
            build_complete_partitions_sensor(f"complete_{name}", stream=stream, partitions_def=DAYS, target=[of_day]),
        ],
    )


def test_all_of_two_streams_can_be_in_one_code_location():
    pravega = PravegaResource()
    resources = {
        "pravega": pravega,
        "pravega_spark": PravegaSparkIOManager(pravega=pravega),
        "pravega_arrow": PravegaArrowIOManager(pravega=pravega),
        "schema_registry": SchemaRegistryResource(),
    }
    found = dg.Definitions.merge(*map(of_stream, NAMES), dg.Definitions(resources=resources))

    repository = found.get_repository_def()
    repository.load_all_definitions()

    for name in NAMES:
        job = repository.get_job(f"plan_{name}")
        assert [node.name for node in job.nodes] == [job.name]  # what the run config calls it
