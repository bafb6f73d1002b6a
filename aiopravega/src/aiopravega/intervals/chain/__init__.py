"""The chain of ranges of a consumer: the next start, claims, losses to retention, skips."""
