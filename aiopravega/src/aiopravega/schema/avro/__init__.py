"""Avro: a model of schemas, the resolution of two schemas, and the readers, writers and checks that use it.

| module | what it is |
|---|---|
| `model`, `parsing`, `defaults` | a schema as values; from its text; its defaults as datums |
| `matching`, `resolution`, `plan` | two schemas: a plan of reading the one as the other, and findings |
| `compatibility`, `limits` | the check of compatibility; types that columns cannot hold |
| `single_events`, `hostile` | single events by a plan, with fastavro; events that fastavro must not get |
| `columns` | whole blocks by a plan, as Arrow columns, and back |

Both parsers on PyPI accept schemas that Avro does not (a wrong default, two fields of a name), and neither reports the
differences of two schemas: the docs page `schema-compatibility` has the comparison.
"""
