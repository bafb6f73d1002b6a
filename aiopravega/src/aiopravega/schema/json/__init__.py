"""JSON Schema: what one schema admits of another, blocks of events as columns and back, single events."""
