"""Programs that a scheduler starts in another process: their order, and the reports to Airflow or Dagster."""
