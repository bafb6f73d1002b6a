"""Pravega for Apache Airflow: hook, operators, sensors and triggers.

Airflow loads this in every process to learn what the distribution offers, so it imports nothing of weight.
"""

from airflow_pravega.provider_info import get_provider_info

__all__ = ["get_provider_info"]
