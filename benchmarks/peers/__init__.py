"""Clients of others, run as programs of their own."""
