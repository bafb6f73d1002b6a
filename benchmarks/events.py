"""Realistic rows: flights, with their columns as DDL and as an Avro schema."""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_CARRIERS: Final = ("UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX", "FL", "AS", "F9", "YV", "HA", "OO")
_AIRPORTS: Final = (
    "EWR",
    "JFK",
    "LGA",
    "IAH",
    "MIA",
    "BQN",
    "ATL",
    "ORD",
    "FLL",
    "IAD",
    "MCO",
    "PBI",
    "TPA",
    "LAX",
    "SFO",
)
_FIRST: Final = datetime(2013, 1, 1, 5, tzinfo=UTC)
# Distinct rows; more of them would only take time.
ROWS: Final = 10_000
_SELDOM: Final = 0.03

DDL: Final = (
    "departure string, carrier string, flight long, tailnum string, origin string, dest string, "
    "air_time double, distance double, dep_delay double, cancelled boolean"
)
AVRO: Final = json.dumps(
    {
        "type": "record",
        "name": "Flight",
        "fields": [
            {"name": "departure", "type": "string"},
            {"name": "carrier", "type": "string"},
            {"name": "flight", "type": "long"},
            {"name": "tailnum", "type": "string"},
            {"name": "origin", "type": "string"},
            {"name": "dest", "type": "string"},
            {"name": "air_time", "type": "double"},
            {"name": "distance", "type": "double"},
            {"name": "dep_delay", "type": ["null", "double"]},
            {"name": "cancelled", "type": "boolean"},
        ],
    }
)


def flights() -> list[dict[str, Any]]:
    """Rows of the schema, the same ones every time."""
    chance = random.Random(2013)
    return [
        {
            "departure": (_FIRST + timedelta(minutes=number)).isoformat(),
            "carrier": chance.choice(_CARRIERS),
            "flight": chance.randrange(1, 9000),
            "tailnum": f"N{chance.randrange(10_000, 99_999)}",
            "origin": chance.choice(_AIRPORTS),
            "dest": chance.choice(_AIRPORTS),
            "air_time": float(chance.randrange(20, 700)),
            "distance": float(chance.randrange(80, 5000)),
            "dep_delay": None if chance.random() < _SELDOM else float(chance.randrange(-20, 200)),
            "cancelled": chance.random() < _SELDOM,
        }
        for number in range(ROWS)
    ]
