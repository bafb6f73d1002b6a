"""Blocks of code that other tests run than those of `tests/integration/pages`, and blocks that no test runs.

A block that is on neither list has to run there: `tests/unit/house/test_code_blocks.py` holds these lists complete, and
the fixture `open_page` fails a test that leaves a block out.
"""

from typing import Final

# Pages that a test of their own runs as a whole, Python and all.
PAGES_ELSEWHERE: Final = {
    "dagster": "tests/system/test_dagster_howto.py",
    "dagster-arrow": "tests/system/test_dagster_howto.py",
    "dagster-automation": "tests/system/test_dagster_howto.py",
    "dagster-checks": "tests/system/test_dagster_howto.py",
    "dagster-components": "tests/unit/dagster_pravega/test_component.py",
    "dagster-elsewhere": "tests/system/test_dagster_howto.py",
    "dagster-pages": "tests/system/test_dagster_howto.py",
    "dagster-services": "tests/system/test_dagster_howto.py",
    "dagster-partitions": "tests/system/test_dagster_howto.py",
    "dagster-tables": "tests/system/test_dagster_howto.py",
    "change-data": "tests/system/test_change_data_howto.py",
    "merge-changes": "tests/system/test_change_data_howto.py",
    "set-up-debezium": "tests/system/test_change_data_howto.py",
    "whole-transactions": "tests/system/test_change_data_howto.py",
    "land-tables": "tests/system/test_landing_howto.py",
    "tables-upkeep": "tests/system/test_upkeep_howto.py",
    "rebuild-an-interval": "tests/system/test_rebuild_howto.py",
    "other-engines": "tests/engines/test_other_engines.py",
    "first-range": "tests/system/test_tutorials.py",
    "first-spark-job": "tests/system/test_tutorials.py",
    "first-dag": "tests/system/test_tutorials.py",
    "first-asset": "tests/system/test_tutorials.py",
    "first-table": "tests/system/cdc/test_tutorial.py",
    "table-on-s3": "tests/system/test_tutorials.py",
}
# Of these pages, and of others, single blocks.
BLOCKS_ELSEWHERE: Final = {
    "dagster-partitions 7": "tests/system/dagster/test_concurrency.py",
    "dagster-components 2": "tests/unit/dagster_pravega/test_component.py",
    "dagster-components 3": "tests/unit/dagster_pravega/test_yaml_fields.py",
    "dagster-components 4": "tests/unit/dagster_pravega/test_yaml_fields.py",
    "dagster-components 5": "tests/unit/dagster_pravega/test_yaml_fields.py",
    "dagster-components 6": "tests/integration/dagster_tables/test_scope_component.py",
    "dagster-tables 3": "tests/unit/dagster_pravega/test_cdc_component.py",
    "dagster-tables 5": "tests/unit/dagster_pravega/test_cdc_component.py",
    "dead-letters 3": "tests/integration/airflow_pravega/test_frame_errors.py",
    "dead-letters 4": "tests/integration/dagster_tables/test_dead_letters.py",
    "keep-table 1": "tests/integration/airflow_pravega/test_keep_table.py",
    "keep-table 2": "tests/integration/dagster_tables/test_kept.py",
    "keep-table 3": "tests/integration/dagster_tables/test_kept.py",
    "keep-table 4": "tests/unit/dagster_pravega/test_kept_component.py",
    "keep-table 5": "tests/integration/pravega_jobs/test_keep_table.py",
    "airflow-deadlines 1": "tests/integration/airflow_pravega/test_deadlines.py",
    "airflow-deadlines 2": "tests/integration/airflow_pravega/test_deadlines.py",
    "airflow-partitions 1": "tests/integration/airflow_pravega/test_partitions.py",
    "airflow-partitions 2": "tests/integration/airflow_pravega/test_partitions.py",
    "airflow-partitions 3": "tests/integration/airflow_pravega/test_partitions.py",
    "from-kafka 1": "tests/integration/pravega_jobs/test_kafka_command.py",
    "from-kafka 2": "tests/integration/pravega_jobs/test_kafka_command.py",
    "late-events 1": "tests/integration/pravega_jobs/test_late_events.py",
    "late-events 2": "tests/integration/dagster_pravega/test_late_sensor.py",
    "late-events 3": "tests/integration/airflow_pravega/test_late_events.py",
    "first-asset 4": "tests/unit/house/test_code_blocks.py",
    "install 1": "tests/unit/house/test_install.py",
    "reader-groups 3": "tests/system/airflow/test_enriched.py",
    "reader-groups 4": "tests/system/airflow/test_enriched.py",
    "try-failures 3": "tests/integration/durable/test_faults.py",
}
NOT_RUN: Final = {
    "airflow-spark 5": "needs what an operator hands over; test_dagster_elsewhere runs its like, example_dags/spark",
    "dagster-components 1": "asks an index for packages; a test loads what `dg scaffold` makes",
    "merge-changes 4": "no Delta or Iceberg is built for Spark 4.3 yet; a test of `merge_into` merges the same changes",
    "rebuild-an-interval 4": "needs Airflow's processes; test_rebuild of Airflow gives the same `conf` to a run",
    "rebuild-an-interval 5": "is typed into Dagster's pages; test_rebuild of Dagster gives the same to a run",
    "README of pravega_emulator 1": "starts servers of its own; test_command does the same",
    "README of pravega_emulator 2": "starts a server of its own; test_standalone does the same",
    "spark-connect 1": "asks an index for packages, and starts a server; the tests start the same class",
    "spark-connect 2": "asks an index for packages; test_wheels installs wheels",
    "spark-connect 3": "needs a Connect server with the address in its environment; test_connect makes the same calls",
    "stream-with-spark 4": "writes into PySpark's own folder; `make setup` runs it, test_compile_pyspark a copy",
    "try-failures 1": "starts a cluster of its own; test_durable and test_command start the same",
    "try-failures 2": "starts and kills a cluster by a name that others may have; test_durable kills by process id",
    "write-changes 2": "no Delta is built for Spark 4.3 yet; the next block runs with a feed of another source",
}
