"""The commit ledger: what was written once, under which write id, by which transactions."""
