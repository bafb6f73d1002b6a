"""Blocks of JSON as columns and back; needs Arrow."""
