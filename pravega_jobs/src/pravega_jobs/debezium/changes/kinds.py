"""Kinds of events: changes of rows, events that are left out, and events that are refused."""

import json
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import Mask, Numbers, mask_of, pick, strings
from aiopravega.schema.arrow.byte_columns import missing
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, ChangeOptions, Truncates

_ROW_OPS: Final = ("c", "r", "u", "d")
_HEARTBEAT: Final = r'^\s*\{\s*"ts_ms"\s*:\s*\d+(\s*,\s*"ts_[un]s"\s*:\s*\d+)*\s*\}\s*$'
_FLAT: Final = (
    "it is a flattened event (ExtractNewRecordState), which need not have an operation or an order: "
    "take the transform out of Debezium's settings, or read the events with decode=json"
)
_CLOUD: Final = (
    "it is a CloudEvent, whose metadata are texts: set debezium.format.value=json in Debezium's settings, or read the "
    "events with decode=json and a struct column data"
)
_NO_OP: Final = (
    "it is not a change event of Debezium: it has no op. If it was flattened by ExtractNewRecordState, read it with "
    "decode=json"
)
_TRUNCATED: Final = "the table was emptied (op t), and the option truncates is fail"


@dataclass(frozen=True, slots=True)
class Kinds:
    """`rows` are the events that become rows; `left_out` counts the others by their kind; `bad` has reasons."""

    rows: Numbers
    left_out: dict[str, int]
    bad: dict[int, str]


def kinds_of(event: dict[str, pa.Array], payloads: pa.BinaryArray, options: ChangeOptions) -> Kinds:
    """The kinds of the events of a batch, by their position in it.

    Args:
        event: the columns of the envelope.
        payloads: the texts of the events.
        options: of the read.
    """
    op = event["op"]
    without = missing(op)
    counts: dict[str, int] = {}
    bad: dict[int, str] = {}

    def leave(kind: str, which: Mask) -> None:
        if which.any():
            counts[kind] = int(which.sum())

    def refuse(which: Mask, reason: str) -> None:
        bad.update(dict.fromkeys(np.flatnonzero(which).tolist(), reason))

    has_op = ~without
    if without.any():
        transaction = without & mask_of(pc.is_in(event["status"], value_set=strings(["BEGIN", "END"])))
        ddl = without & ~missing(event["ddl"])
        heartbeat = without & _matches(payloads, without, _HEARTBEAT)
        leave("transaction", transaction)
        leave("ddl", ddl)
        leave("heartbeat", heartbeat)
        rest = without & ~transaction & ~ddl & ~heartbeat
        cloud = rest & ~missing(event["specversion"])
        flat = rest & (~missing(event["__op"]) | ~missing(event["__deleted"]))
        refuse(rest, _NO_OP)
        refuse(flat, _FLAT)
        refuse(cloud, _CLOUD)
    message = _is(op, "m")
    leave("message", message)
    has_op &= ~message
    truncated = has_op & _is(op, "t")
    changed = has_op & mask_of(pc.is_in(op, value_set=strings(list(_ROW_OPS))))
    unknown = has_op & ~truncated & ~changed
    if unknown.any():
        for row in np.flatnonzero(unknown).tolist():
            bad[row] = f"its op is {op[row].as_py()!r}, which is not known"
    deleted = changed & _is(op, "d")
    refuse(changed & ~deleted & missing(event[AFTER]), "it has no after, which its op must have")
    refuse(deleted & missing(event[BEFORE]), "it is a delete without before, so that its row is not known")
    wanted = changed
    if options.truncates is Truncates.ROW:
        wanted = wanted | truncated
    elif options.truncates is Truncates.FAIL:
        refuse(truncated, _TRUNCATED)
    else:
        leave("truncate", truncated)
    if bad:
        wanted[list(bad)] = False
    return Kinds(np.flatnonzero(wanted), counts, bad)


def refusal(event: bytes, why: str) -> str:
    """The reason to refuse an event that could not be read; another format is a better reason than `why`."""
    try:
        document = json.loads(event)
    except (ValueError, RecursionError):
        return why
    if not isinstance(document, dict):
        return why
    if "specversion" in document:
        return _CLOUD
    if "__op" in document or "__deleted" in document:
        return _FLAT
    return why if "op" in document else _NO_OP


def _is(op: pa.Array, value: str) -> Mask:
    return mask_of(pc.is_in(op, value_set=strings([value])))


def _matches(payloads: pa.BinaryArray, some: Mask, pattern: str) -> Mask:
    matches = np.zeros(len(payloads), np.bool_)
    rows = np.flatnonzero(some)
    matches[rows] = mask_of(pc.match_substring_regex(pick(payloads, rows), pattern))
    return matches
