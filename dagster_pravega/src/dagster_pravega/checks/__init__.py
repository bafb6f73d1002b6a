"""Asset checks: lag, freshness, schemas, rows, decode errors, Debezium."""
