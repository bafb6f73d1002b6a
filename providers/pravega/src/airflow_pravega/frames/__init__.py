"""Ranges as frames in the process of a task, without Spark."""
