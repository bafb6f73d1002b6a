"""Avro: whole batches of datums into Arrow, by any writer's schema, in the shape of the reader's.

Why own code: of 100,000 orders (8 fields, 55 bytes each) one core of a small machine decoded

| how | orders/s |
|---|---|
| fastavro, event by event, without Arrow | 0.13 million |
| cavro, event by event, without Arrow | 0.13 million |
| polars `read_avro` of one container block made of all events | 4.0 million |
| polars-avro, likewise | 6.6 million |
| pyruhvro | 9.4 million |
| this package | 4.9 million |

A container block has no ends of events: one that is cut off, or has bytes left over, would shift all that follow it.
pyruhvro keeps events apart, but panics on bytes, fixed and decimals, and does not check texts. `benchmarks/decode.py`
measures again.
"""
