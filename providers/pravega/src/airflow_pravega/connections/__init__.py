"""Airflow connections as configurations of clients: of the types `pravega`, `spark` and `postgres`."""
