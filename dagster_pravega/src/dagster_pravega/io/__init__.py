"""IO managers over Spark and Arrow, and the ranges that they read and write."""
