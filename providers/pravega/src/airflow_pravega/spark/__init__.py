"""How the Spark operators use Spark: their sessions, and digests of what was written."""
