"""Kinds of tables, one in each module: `KIND` is its entry."""
