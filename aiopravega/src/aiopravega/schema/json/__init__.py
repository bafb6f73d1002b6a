"""JSON Schema: comparison of two schemas, blocks of events as columns and back, single events."""
