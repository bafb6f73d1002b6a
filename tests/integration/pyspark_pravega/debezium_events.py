"""Change events: those that a real Debezium wrote, and such as it would write."""

import gzip
import json
from pathlib import Path

EVENTS = [
    json.loads(line)
    for line in gzip.decompress(
        (Path(__file__).parents[2] / "vectors" / "debezium-events.jsonl.gz").read_bytes()
    ).splitlines()
]


def texts(settings, table=None, origin=None):
    """The events of some settings, as bytes; those that never arrived in a stream are empty."""
    return [
        ((one["event"] or "").encode(), one["routing_key"] or "no key")
        for one in EVENTS
        if one["settings"] == settings and table in (None, one["table"]) and origin in (None, one["from"])
    ]


def made(op, lsn, *, at=1, snapshot="false", **after):
    source = {"connector": "postgresql", "lsn": lsn, "table": "t", "snapshot": snapshot, "ts_ms": lsn}
    images = {"before": after, "after": None} if op == "d" else {"before": None, "after": after or None}
    return json.dumps(images | {"source": source, "op": op, "ts_ms": at}).encode(), "key"
