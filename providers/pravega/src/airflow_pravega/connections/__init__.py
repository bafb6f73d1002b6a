"""Airflow connections as configurations of clients: of databases, catalogs, object stores, and of Spark."""
