"""`pravega errors` over tables of files, as a person types it."""

import json

import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.unit.pravega_jobs.test_error_rows import CUTS

from pravega_jobs.commands.errors import command
from pravega_jobs.error_rows import ERROR_TYPE
from pravega_jobs.landing import ParquetFolder, land


@pytest.fixture
def tables(tmp_path) -> tuple[str, str]:
    """A table with two intervals, one of them with errors, and its errors table."""
    table, errors = f"parquet:{tmp_path}/orders", f"parquet:{tmp_path}/orders_errors"
    for interval, events in (("monday", [b"no\x1b json", b"\xff"]), ("tuesday", [])):
        bad = [{"event": each, "pointer": f"shop/orders/2.#epoch.0:{len(each)}-9", "reason": "odd"} for each in events]
        rows = pa.table({"id": range(len(bad) + 1), "_error": pa.array([None, *bad], ERROR_TYPE)})
        land(rows, table, CUTS, consumer="lake", interval=interval, errors=errors, event_times=True)
    return table, errors


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(words), standalone_mode=False)
    assert done.exception is None
    return int(done.return_value), done.stdout


def test_errors_are_listed_with_their_states_and_missing_ones_are_a_no(tables, tmp_path):
    table, errors = tables
    code, text = run("list", table)
    assert code == 0
    assert text.splitlines()[1].split() == ["lake", "monday", "1", "counted", "2", "2", errors]

    for file in (tmp_path / "orders_errors").glob("landing=*/*.parquet"):
        file.unlink()
    code, text = run("list", table, "--errors", errors, "--json")
    [missing] = json.loads(text)
    assert (code, missing["state"], missing["landed"], missing["found"]) == (1, "missing", 2, 0)


def test_errors_are_shown_with_their_places_and_no_controls(tables):
    table, _ = tables
    code, text = run("show", table, "--max", "1")
    assert code == 0
    assert text.splitlines()[1].split() == ["monday", "1", "shop/orders/2.#epoch.0:8-9", "odd", r"no\x1b", "json"]
    code, text = run("show", table, "--interval", "monday", "--json")
    first, second = json.loads(text)
    assert (first["event"], second["event_hex"], first["stream"]) == ("no\x1b json", "ff", "shop/orders")
    assert run("show", table, "--consumer", "other") == (1, "interval_name  generation  pointer  reason  event\n")


def test_a_replay_says_what_is_mended_and_left(tables, tmp_path):
    table, _ = tables
    event = b'{"id": 7}'
    bad = [{"event": each, "pointer": f"shop/orders/2.#epoch.0:0-{len(each) + 8}"} for each in (event, b"no")]
    rows = pa.table({"id": [1, None, None], "_error": pa.array([None, *bad], ERROR_TYPE)})
    errors = f"parquet:{tmp_path}/more_errors"
    land(rows, table, CUTS, consumer="other", interval="monday", errors=errors, event_times=True)
    words = ("replay", table, "--consumer", "other", "-o", "decode=json", "-o", "columns=id long")
    assert run(*words) == (1, "")
    code, text = run(*words, "--yes", "--json")
    [done] = json.loads(text)
    assert (code, done["generation"], done["errors"], done["left"], done["rows"]) == (1, 2, 2, 1, 2)
    assert run("show", table, "--consumer", "other")[1].splitlines()[1].split()[-1] == "no"
    of_one = CliRunner().invoke(command, [*words, "-o", "shop/orders:columns=id int"], standalone_mode=False)
    assert "-o shop/orders:columns is for a stream that is not used" in of_one.stderr + str(of_one.exception)


def test_a_table_without_errors_has_none(tmp_path):
    assert ParquetFolder(f"{tmp_path}/none").holdings() == []
    assert run("list", f"parquet:{tmp_path}/none", "--json") == (0, "[]\n")
