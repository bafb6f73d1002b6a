"""What jobs of all schedulers need: Spark with Pravega's data source, ranges, writes, retries.

Spark's side shares the words of its options with them. No scheduler is known here; Spark is imported where it is used.
"""
