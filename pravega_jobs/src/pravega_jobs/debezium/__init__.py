"""Debezium: its change events as rows and back, its server before it starts, and the transactions of its database."""
