"""Conditions: how far a stream has moved, and the end of the range that they allow."""
