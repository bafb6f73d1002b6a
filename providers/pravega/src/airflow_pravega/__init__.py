"""Pravega for Apache Airflow: hook, operators, sensors and triggers."""
