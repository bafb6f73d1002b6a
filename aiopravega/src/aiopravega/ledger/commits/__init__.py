"""The commit ledger: the record of each write that happens once, by its write id, with its transactions."""
