"""Airflow looks for message queues here."""
