"""What jobs of schedulers need, whichever scheduler it is: Spark with Pravega's data source, ranges, writes, retries.

Spark's side shares the words of its options with them. No scheduler is known here; Spark is imported where it is used.
"""
