"""Spark for tasks of schedulers: sessions, options, frames, progress. PySpark is imported where it is used."""
