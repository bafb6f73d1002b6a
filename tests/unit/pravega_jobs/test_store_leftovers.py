"""Files in the store of a Delta table, by its log: what was replaced, and what no commit can take any more."""

import json

import pyarrow as pa
from deltalake import DeltaTable

from pravega_jobs.landing.delta_leftovers import LogFiles, StoreFiles

RUN = "f" * 32
HELD, OTHER = f"landing-{'a' * 24}", f"landing-{'b' * 24}"


def staged(prefix: str, generation: int) -> str:
    return f"{prefix}/{generation}-{RUN}/part-0.parquet"


def commit(**actions: object) -> bytes:
    return "\n".join(json.dumps({name: action}) for name, action in actions.items()).replace(": ", ":").encode()


def test_the_log_says_which_files_versions_have_and_had(tmp_path):
    table = DeltaTable.create(tmp_path, pa.schema([("id", pa.int32())]))
    found = LogFiles.of(
        table,
        [
            commit(add={"path": "a%20b"}),
            commit(commitInfo={"timestamp": 5000}, remove={"path": "a%20b"}),
            commit(commitInfo={"timestamp": 9000}, remove={"path": "c", "deletionTimestamp": 3000}),
            commit(remove={"path": "c", "deletionTimestamp": 2000}),
            commit(remove={"path": "d"}),
        ],
    )
    assert found.removed == {"a b": 5, "c": 3, "d": float("inf")}
    assert (found.has("a b"), found.has("c"), found.has("e")) == (True, True, False)


def test_only_files_of_held_intervals_that_no_version_has_are_left():
    taken = f"{HELD}/1-{'e' * 32}/part-0.parquet"
    names = [staged(HELD, 1), staged(HELD, 2), staged(HELD, 3), staged(OTHER, 1), taken, "part-1", "_landing/a.json"]
    found = StoreFiles(dict.fromkeys(names, 1), LogFiles({taken}), {HELD: 2})
    assert found.leftovers() == [staged(HELD, 1), staged(HELD, 2)]
    assert found.unknown() == ["part-1"]


def test_files_go_that_were_replaced_before_a_time_and_not_restored():
    log = LogFiles({"restored"}, removed={"restored": 1.0, "old": 2.0, "new": 9.0, "gone": 1.0})
    found = StoreFiles(dict.fromkeys(["restored", "old", "new"], 1), log, {})
    assert found.replaced(5) == ["old"]
