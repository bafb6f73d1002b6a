"""Identities of consumers, intervals, writes and sinks: the same rules for all hosts."""
