"""The page "Pravega": consumers of streams, their ranges and their states. It only reads."""
