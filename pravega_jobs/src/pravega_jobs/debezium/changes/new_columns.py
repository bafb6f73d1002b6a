"""Columns that the table has and the read does not: found, and kept as JSON.

Arrow gives the names in a block. Only if there are unknown names, events are parsed one by one.
"""

import json
from typing import Any

import pyarrow as pa
from pyarrow import json as pa_json

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import Numbers, pick
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, NewColumns
from pravega_jobs.debezium.changes.plan import ChangePlan

Rest = dict[int, dict[str, str]]


def check_new(names: set[str], plan: ChangePlan) -> None:
    """Refuse new columns, if the user wants that.

    Raises:
        ConfigurationError: there are new columns, and `new_columns` is `fail`.
    """
    if names and plan.options.new_columns is NewColumns.FAIL:
        raise ConfigurationError(
            f"the table has columns that the read does not have: {', '.join(sorted(names))}. Add them to the read, or "
            "set new_columns=ignore or new_columns=rest"
        )


def unknown_of(payloads: pa.BinaryArray, rows: Numbers, plan: ChangePlan) -> Rest:
    """The values of columns that the read does not have: for each event, the JSON text of each image with such columns.

    Raises:
        ConfigurationError: there are such columns, and `new_columns` is `fail`.
    """
    known = set(plan.table.names)
    chosen = payloads if len(rows) == len(payloads) else pick(payloads, rows)
    texts = chosen.to_pylist()
    if not texts or not _may_have_others(texts, known):
        return {}
    found: Rest = {}
    for row, text in zip(rows.tolist(), texts, strict=True):
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):  # Arrow has read it, so its known columns are there
            continue
        for name in (BEFORE, AFTER):
            image = event.get(name) or {}
            others = {column: value for column, value in image.items() if column not in known}
            check_new(set(others), plan)
            if others:
                found.setdefault(row, {})[name] = _written(others)
    return found


def _may_have_others(texts: list[bytes], known: set[str]) -> bool:
    data = b"\n".join(texts)
    options = pa_json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    try:
        table = pa_json.read_json(pa.BufferReader(data), options)
    except pa.ArrowException:  # values of one column in several forms
        return True
    for name in (BEFORE, AFTER):
        if name in table.column_names:
            kind = table.schema.field(name).type
            if pa.types.is_struct(kind) and {part.name for part in kind} - known:
                return True
    return False


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
