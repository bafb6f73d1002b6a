"""Events from typed rows: columns encoded by a schema."""
