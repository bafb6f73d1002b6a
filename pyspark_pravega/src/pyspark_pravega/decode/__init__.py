"""Plans of `pravega_jobs.decoding` with their columns as Spark's types."""
