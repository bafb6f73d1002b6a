"""Airflow looks for triggers here."""
