"""Commands that `pravega` gets from this distribution: `pravega sql` and `pravega export`."""
