"""Airflow connections as configurations of clients: of the types `pravega`, `spark`, `postgres`, `iceberg` and `aws`."""
