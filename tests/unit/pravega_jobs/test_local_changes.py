"""The last change of each key by DuckDB, held against a model of a few lines."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiopravega.errors import ConfigurationError
from pravega_jobs.merging.local_changes import current_rows, last_changes

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ('Na\'me "x"', pa.string()),
        ("big", pa.list_(pa.int32())),
        ("_change_type", pa.string()),
        ("_sequence", pa.binary()),
        ("_unchanged", pa.list_(pa.string())),
    ]
)
NAME, BIG = 'Na\'me "x"', "big"
KINDS = ("insert", "update_postimage", "update_preimage", "delete")
CHANGES = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(1, 3),
            NAME: st.sampled_from([None, "a", "b"]),
            BIG: st.sampled_from([None, [1, 2], []]),
            "_change_type": st.sampled_from(KINDS),
            "_sequence": st.sampled_from([b"\x01", b"\x02", b"\x80", b"\x80\x00", b"\xff"]),
            "_unchanged": st.sampled_from([None, [], [BIG], [BIG, NAME]]),
        }
    ),
    max_size=12,
)


def model(changes: list[dict[str, Any]], *, current: bool) -> list[dict[str, Any]]:
    """The last change of each key, value by value."""
    found = []
    empties = [one["_sequence"] for one in changes if one["_change_type"] == "truncate"]
    changes = [one for one in changes if one["_change_type"] not in ("truncate", "update_preimage")]
    if empties:
        changes = [one for one in changes if one["_sequence"] > max(empties)]
    for key in sorted({one["id"] for one in changes}):
        # A stable sort: of two at one position, the later event is last.
        mine = sorted((one for one in changes if one["id"] == key), key=lambda one: one["_sequence"])
        row = {"id": key, "_change_type": mine[-1]["_change_type"], "_sequence": mine[-1]["_sequence"]}
        for name in (NAME, BIG):
            sent = [one[name] for one in mine if name not in (one["_unchanged"] or [])]
            row[name] = sent[-1] if sent else None
        row["_unchanged"] = [n for n in (NAME, BIG) if all(n in (one["_unchanged"] or []) for one in mine)]
        if current:
            if row.pop("_change_type") == "delete":
                continue
            del row["_sequence"]
        found.append(row)
    return found


def batches(changes: list[dict[str, Any]]) -> pa.RecordBatchReader:
    return pa.Table.from_pylist(changes, SCHEMA).to_reader(5)


@settings(max_examples=30)
@given(CHANGES)
def test_the_last_change_of_each_key_has_the_last_values_that_were_sent(changes):
    with last_changes(batches(changes), ["id"]) as found:
        assert found.schema.names == SCHEMA.names
        assert sorted(found.read_all().to_pylist(), key=lambda row: row["id"]) == model(changes, current=False)


@settings(max_examples=30)
@given(CHANGES, st.sampled_from([None, b"\x01", b"\x80"]))
def test_the_table_after_all_changes_has_no_deleted_and_no_emptied_rows(changes, emptied):
    if emptied is not None:
        changes = [*changes, dict.fromkeys(SCHEMA.names) | {"_change_type": "truncate", "_sequence": emptied}]
    with current_rows(batches(changes), ["id"]) as found:
        assert found.schema.names == ["id", NAME, BIG, "_unchanged"]
        assert sorted(found.read_all().to_pylist(), key=lambda row: row["id"]) == model(changes, current=True)


def test_what_cannot_be_reduced_is_refused():
    truncate = dict.fromkeys(SCHEMA.names) | {"_change_type": "truncate", "_sequence": b"\x01"}
    with pytest.raises(ConfigurationError, match="no merge can follow"), last_changes(batches([truncate]), ["id"]):
        pass
    with pytest.raises(ConfigurationError, match="have no column other"), last_changes(batches([]), ["other"]):
        pass
    with pytest.raises(ConfigurationError, match="needs the columns of its key"), current_rows(batches([]), []):
        pass
    twins = pa.table({name: [] for name in ("id", "ID", "_change_type", "_sequence")})
    with pytest.raises(ConfigurationError, match="columns id, ID, which are one in SQL"), current_rows(twins, ["id"]):
        pass
    with pytest.raises(ConfigurationError, match="but must be a pyarrow"), current_rows([{"id": 1}], ["id"]):
        pass
