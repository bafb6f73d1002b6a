"""What single events need of a format, and formats of one's own."""
