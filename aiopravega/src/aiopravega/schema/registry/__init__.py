"""The Schema Registry: its client, its records as values, and the header before each payload. It knows no format.

The client needs the extra `schema` (httpx).
"""
