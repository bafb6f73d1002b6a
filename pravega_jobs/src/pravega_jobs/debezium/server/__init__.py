"""Debezium Server before it starts: its settings, the streams it writes, and the database it reads."""
