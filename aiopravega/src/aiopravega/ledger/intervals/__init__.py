"""The cut ledger: which range of a stream belongs to which interval of a consumer."""
