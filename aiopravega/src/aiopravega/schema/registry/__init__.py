"""The Schema Registry: its client, what it keeps as values, and what it puts before each payload. It knows no format.

The client needs the extra `schema` (httpx).
"""
