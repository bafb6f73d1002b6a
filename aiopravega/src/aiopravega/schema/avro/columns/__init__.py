"""Avro: whole batches of datums into Arrow, by any writer's schema, in the shape of the reader's.

The reason for own code: of 100,000 flights (10 fields, 71 bytes each) one core of a small machine decoded

| how | million flights/s | MB/s |
|---|---|---|
| this package | 7.6 | 543 |
| pyruhvro 0.4, with the list of events that it wants | 7.2 | 517 |
| polars 2.1, `read_avro` of one container block made of all events | 5.2 | 372 |
| fastavro 1.13, event by event, into dictionaries | 0.3 | 21 |

pyruhvro panics on bytes, fixed and decimals, and does not check texts. A container block has no ends of events: an
event that is cut off, or has bytes left over, would shift all events after it. `python -m benchmarks.decode` repeats
the measurement.
"""
