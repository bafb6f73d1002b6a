"""Conditions of streams for Dagster's declarative automation, and the sensor that evaluates them."""
