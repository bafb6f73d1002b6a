"""Single events and lists of events, as tasks of schedulers write and read them."""
