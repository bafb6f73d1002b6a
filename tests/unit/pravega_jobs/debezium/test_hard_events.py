"""What must never be taken for data, never be guessed, and never vanish."""

import base64
import json
import pickle

import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.debezium.events import ID, MARIA, POSTGRES, change, columns, enclosed

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes import metadata
from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.meanings import TIMESTAMP, columns_of
from pravega_jobs.debezium.changes.options import ChangeOptions, Changes
from pravega_jobs.debezium.changes.plan import ChangePlan, columns_for


def test_damaged_events_are_counted_and_do_not_hurt_others(upserts):
    good = [change(after={"id": number}) for number in range(5)]
    events = [good[0], "{", good[1], '{"schema":{"type":', good[2], "[]", change(op="x", after={"id": 1}), good[3]]
    events += [change(op="c", after={"id": 9}, source=MARIA | {"file": "bin.1e4"}), "[" * 100_000]
    events += [change(op="u"), change(op="d"), change(after={"id": "one"}), b"\xff", "null", good[4]]

    about = ("_op", "_sequence", "_source_table")
    block, rows = upserts(ID, events, about=about)

    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4]
    assert block.taken.tolist() == [0, 2, 4, 7, 15]
    assert sorted(block.bad) == [1, 3, 5, 6, *range(8, 15)]
    assert "op is 'x'" in block.bad[6]
    assert "envelope" in block.bad[8]
    assert "no after" in block.bad[10]
    assert "without before" in block.bad[11]
    assert "string" in block.bad[12]


def test_what_is_no_change_of_a_row_is_left_out_by_kind(upserts):
    events = [
        b"",
        '{"status":"BEGIN","id":"1:2","event_count":null,"data_collections":null,"ts_ms":1}',
        '{"ts_ms":1795294887040}',
        change(op="m", message={"prefix": "note", "content": "aGVsbG8="}),
        '{"source":{"db":"shop"},"ts_ms":1,"databaseName":"shop","ddl":"DROP TABLE t","tableChanges":[]}',
        change(after={"id": 1}),
        change(after={"id": "a text", "more": 1}, source=POSTGRES | {"table": "other"}),
    ]

    block, rows = upserts(ID, events, table="public.t", new_columns="fail")

    assert [row["id"] for row in rows] == [1]
    assert block.left_out == {"empty": 1, "transaction": 1, "heartbeat": 1, "message": 1, "ddl": 1, "other table": 1}
    assert not block.bad


def test_events_with_and_without_schemas_are_mixed_and_keep_their_order(upserts):
    fields = {"id": {"type": "int32"}, "at": {"type": "int64", "name": "io.debezium.time.Timestamp"}}
    events = [
        enclosed(fields, change(after={"id": number, "at": 1000})) if number % 3 else change(after={"id": number})
        for number in range(20)
    ]

    block, rows = upserts(columns(id=pa.int32(), at=TIMESTAMP), events)

    assert not block.bad
    assert [row["id"] for row in rows] == list(range(20))
    assert block.taken.tolist() == list(range(20))


def test_a_delete_gives_its_key_and_no_placeholders(decode):
    kinds = columns(id=pa.int32(), name=pa.string())
    gone = {"id": 3, "name": ""}
    both = [change("d", before=gone), change("d", before=gone, source=MARIA)]
    about = ("_op", "_source_table")

    def names(**options):
        return [row["name"] for row in decode(kinds, both, about=about, **options)[1]]

    assert names(key=("id",), changes="upsert") == [None, None]
    assert names(key=("id",), changes="rows") == [None, ""]
    assert names(key=("id",), changes="rows", before_image="full") == ["", ""]
    assert names(key=("id",), changes="rows", before_image="key") == [None, None]
    block, _ = decode(kinds, both, about=about, changes="rows")
    assert "placeholders" in block.bad[0]
    with pytest.raises(ConfigurationError, match="option 'key'"):
        names(changes="upsert")
    _, rows = decode(kinds, both, about=about, changes="envelope", key=("id",))
    assert [row["before"] for row in rows] == [{"id": 3, "name": None}, {"id": 3, "name": ""}]


def test_a_value_that_was_not_sent_is_named(upserts):
    items = pa.list_(pa.field("element", pa.string()))
    kinds = columns(id=pa.int32(), big=pa.string(), raw=pa.binary(), tags=items)
    text = "__debezium_unavailable_value"
    sent = {"id": 1, "big": "x", "raw": "AP8Q", "tags": ["a", None]}
    missing = {"id": 2, "big": text, "raw": base64.b64encode(text.encode()).decode(), "tags": [text]}

    block, rows = upserts(kinds, [change("u", after=sent), change("u", after=missing)], about=("_op", "_unchanged"))

    assert not block.bad
    assert rows[0] == sent | {"raw": b"\x00\xff\x10", "_op": "u", "_unchanged": []}
    assert rows[1] == {"id": 2, "big": None, "raw": None, "tags": None} | {
        "_op": "u",
        "_unchanged": ["big", "raw", "tags"],
    }
    block, rows = upserts(kinds, [change("u", after=sent), change("u", after=missing)])
    assert [row["id"] for row in rows] == [1]
    assert "_unchanged" in block.bad[1]


@pytest.mark.parametrize("with_schema", [False, True])
def test_new_columns_are_ignored_kept_or_refused(upserts, with_schema):
    fields = {"id": {"type": "int32"}, "tel": {"type": "string"}}
    event = change(after={"id": 1, "tel": "12"})
    events = [enclosed(fields, event) if with_schema else event, change(after={"id": 2})]

    assert [row["id"] for row in upserts(ID, events)[1]] == [1, 2]
    rest = [row["_rest"] for row in upserts(ID, events, about=("_op", "_rest"), new_columns="rest")[1]]
    assert rest == ['{"tel":"12"}', None]
    with pytest.raises(ConfigurationError, match="does not have: tel"):
        upserts(ID, events, new_columns="fail")
    with pytest.raises(ConfigurationError, match="_rest"):
        upserts(ID, events, new_columns="rest")


def test_a_truncate_is_a_row_or_a_failure_or_nothing(upserts):
    events = [change(after={"id": 1}), change(op="t")]

    assert [tuple(row.values()) for row in upserts(ID, events, about=("_change_type",))[1]] == [
        (1, "insert"),
        (None, "truncate"),
    ]
    assert "emptied" in upserts(ID, events, truncates="fail")[0].bad[1]
    assert upserts(ID, events, truncates="drop")[0].left_out == {"truncate": 1}


def test_sequences_sort_as_the_database_made_the_changes(upserts):
    def sequences(*sources):
        events = [change(after={"id": number}, source=source) for number, source in enumerate(sources)]
        return [row["_sequence"] for row in upserts(ID, events, about=("_op", "_sequence"))[1]]

    files = [MARIA | {"file": f"bin.{number:06}", "pos": pos, "row": row} for number, pos, row in SORTED]
    server = {"connector": "sqlserver", "table": "t", "commit_lsn": "00000027:00000ac0:0002"}
    commits = [server | {"change_lsn": f"00000027:00000ac0:000{number}", "event_serial_no": 1} for number in (1, 2)]
    commits += [server | {"change_lsn": "00000027:00000ac0:0002", "event_serial_no": 2}]
    for sources in (
        [POSTGRES | {"lsn": lsn} for lsn in (1, 255, 256, 2**33, 2**62)],
        files,
        commits,
        [{"connector": "oracle", "table": "t"}] * 3,
    ):
        made = sequences(*sources)
        assert made == sorted(made)
        assert len(set(made)) == len(made)


SORTED = [(2, 9, 0), (2, 10, 0), (2, 10, 1), (10, 4, 0), (999_999, 4, 0), (1_000_000, 4, 0)]


def test_a_type_that_is_not_known_is_refused_by_name():
    event = enclosed({"v": {"type": "int64", "name": "io.debezium.data.Unheard"}}, "{}")

    with pytest.raises(ConfigurationError, match=r"column 'v' is int64 named io\.debezium\.data\.Unheard"):
        columns_of(schema_in(event))
    with pytest.raises(ConfigurationError, match="cannot be map"):
        ChangePlan(columns(m=pa.map_(pa.string(), pa.string()), _op=pa.string()), ChangeOptions(Changes.ROWS))


def test_events_of_two_tables_are_not_mixed(upserts):
    events = [change(after={"id": 1}), change(after={"id": 2}, source=POSTGRES | {"table": "other"})]

    with pytest.raises(ConfigurationError, match=r"inv\.public\.other, inv\.public\.t"):
        upserts(ID, events)
    assert len(upserts(ID, events, about=("_op", "_source_table"))[1]) == 2


def test_all_columns_about_a_change_have_their_types(upserts):
    transaction = {"id": "7:8", "total_order": 3, "data_collection_order": 1}
    events = [change(after={"id": 1}, transaction=transaction, ts_us=5), change(after={"id": 2}, source=MARIA)]

    _, rows = upserts(ID, events, about=tuple(metadata.TYPES))

    assert (rows[0]["_tx"], rows[0]["_tx_order"], rows[0]["_lsn"]) == ("7:8", 3, 5)
    assert json.loads(rows[0]["_source"]) == POSTGRES
    assert rows[0]["_ingested_at"].timestamp() == 5e-6
    assert rows[1]["_ingested_at"].timestamp() == 1e-3
    assert (rows[1]["_file"], rows[1]["_pos"], rows[1]["_row"]) == ("bin.000001", 1, 0)


def test_a_plan_travels():
    options = ChangeOptions(key=("id",))
    plan = ChangePlan(columns_for(ID, options, metadata.USUAL), options)

    assert pickle.loads(pickle.dumps(plan)) == plan
