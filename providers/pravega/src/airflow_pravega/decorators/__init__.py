"""Airflow looks for decorators of TaskFlow here."""
