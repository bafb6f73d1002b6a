"""Airflow looks for sensors here."""
