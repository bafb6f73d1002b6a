"""The whole loop on real servers: `make demo`."""
