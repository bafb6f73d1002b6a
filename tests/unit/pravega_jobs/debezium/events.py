"""Change events, made by hand."""

import json

import pyarrow as pa

POSTGRES = {"connector": "postgresql", "lsn": 5, "db": "inv", "schema": "public", "table": "t"}
MARIA = {"connector": "mariadb", "db": "shop", "table": "t", "file": "bin.000001", "pos": 1, "row": 0}
STRUCT = {"type": "struct", "optional": True}


def change(op="c", after=None, before=None, source=POSTGRES, **more):
    return json.dumps({"before": before, "after": after, "source": source, "op": op, "ts_ms": 1} | more)


def enclosed(fields, text):
    image = {**STRUCT, "fields": [{"field": name, "optional": True, **one} for name, one in fields.items()]}
    schema = {"type": "struct", "fields": [{**image, "field": "before"}, {**image, "field": "after"}]}
    return f'{{"schema":{json.dumps(schema)},"payload":{text}}}'


def columns(**kinds):
    return pa.schema(list(kinds.items()))


ID = columns(id=pa.int32())
