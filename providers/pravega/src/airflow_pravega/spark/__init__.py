"""The Spark operators' use of Spark: sessions, reads of a range, writes that are done once, the log of the JVM."""
