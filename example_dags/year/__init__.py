"""A year of flights by event time, four ways: `python -m example_dags.year`."""
