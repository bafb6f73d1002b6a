"""How the Spark operators use Spark: sessions, options, digests of what was written."""
