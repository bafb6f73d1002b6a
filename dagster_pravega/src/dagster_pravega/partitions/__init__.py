"""Ranges of partitions: by keys, by event time, since the last run."""
