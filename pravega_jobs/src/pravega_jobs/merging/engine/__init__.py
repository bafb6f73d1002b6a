"""The engine of a merge: changes and rows of a table as Arrow columns for Delta and Iceberg, as SQL for PostgreSQL."""
