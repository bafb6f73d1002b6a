"""JSON: blocks of objects into Arrow and back, and the columns of a JSON Schema."""
