"""Sensors: cuts, reader groups, complete partitions."""
