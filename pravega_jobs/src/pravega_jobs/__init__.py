"""Jobs that schedulers share: ranges, writes, landing, merging, Debezium, work in other processes, Spark.

No scheduler is known here. PySpark, Delta, Iceberg and PostgreSQL are imported where they are used.
"""
