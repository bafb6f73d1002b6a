"""Avro: one model of a schema, one resolution of two, and what follows from it.

| module | what it is |
|---|---|
| `model`, `parsing`, `defaults` | a schema as values; from its text; its defaults as datums |
| `matching`, `resolution`, `plan` | two schemas: a plan of reading the one as the other, and findings |
| `compatibility`, `limits` | what the check of compatibility reports; what columns cannot hold |
| `single_events`, `hostile` | single events by a plan, with fastavro; which events fastavro must not get |
| `columns` | whole blocks by a plan, as Arrow columns, and back |

Both parsers on PyPI take schemas that Avro does not (a wrong default, two fields of a name), and neither reports where
two schemas differ: the docs page `schema-compatibility` has the comparison.
"""
