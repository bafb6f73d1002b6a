"""Airflow looks for operators here."""
