"""Programs beside Pravega that read or write streams: whether they run, and what they committed last."""
