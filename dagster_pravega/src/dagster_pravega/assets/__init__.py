"""Assets: streams that others write, observed ones, landed and merged tables."""
