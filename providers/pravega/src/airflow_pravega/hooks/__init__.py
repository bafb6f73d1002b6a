"""Airflow looks for hooks here."""
