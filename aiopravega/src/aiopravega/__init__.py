"""Pravega for Python: an asyncio client with bounded reads, transactions, key-value tables and exact StreamCuts."""
