"""Airflow looks for plugins here."""
