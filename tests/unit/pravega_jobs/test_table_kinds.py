"""Kinds of tables: a module and one entry make a new one, and all that names tables knows it."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.pravega_jobs import lines_table
from tests.unit.pravega_jobs.lines_table import LinesTable

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.commands.cuts import TABLES, table_comparison
from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.intervals.reports.verify import FindingKind
from pravega_jobs.landing import compared_table, holdings, land, shown_table, table_of
from pravega_jobs.landing import targets as tables
from pravega_jobs.landing.postgres_sql import connect
from pravega_jobs.landing.rules import Action
from pravega_jobs.merging.reading import merged_table
from pravega_jobs.merging.state import merge_target, state_of

ROOT = Path(__file__).parents[3]
STREAM = StreamName("shop", "orders")


ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def lines(monkeypatch, tmp_path):
    """The text of a table of the new kind, which is entered into the registry."""
    monkeypatch.setattr(tables, "KINDS", (*tables.KINDS, lines_table.KIND))
    return f"lines:{tmp_path}/orders"


def cuts(start, end):
    return StreamCutRange(*(StreamCut(STREAM, {SegmentId(STREAM, 0, 0): each}) for each in (start, end)))


def test_rows_are_landed_in_a_table_of_a_kind_that_one_entry_adds(lines):
    named: dict[str, Any] = {"consumer": "lake", "interval": "monday"}
    assert land(ROWS, lines, cuts(0, 10), **named).action is Action.APPEND
    assert land(ROWS, lines, cuts(0, 10), **named).action is Action.NOTHING
    assert land(ROWS, lines, cuts(0, 12), **named, generation=2).action is Action.REPLACE
    with pytest.raises(LandingError, match="generation 2"):
        land(ROWS, lines, cuts(0, 10), **named)
    [held] = holdings(lines)
    assert (held.interval, held.generation, held.rows, held.range) == ("monday", 2, 2, cuts(0, 12))


def test_hosts_and_commands_know_a_new_kind_by_its_entry(lines):
    path = Path(lines.removeprefix("lines:"))
    assert table_of(lines) == shown_table(lines, None, "database") == LinesTable(path)
    assert (tables.folder_of(lines), tables.kind_of_table(LinesTable(path))) == (str(path), lines_table.KIND)
    with pytest.raises(ConfigurationError, match="or lines:/folder"):
        table_of("line:/folder")
    with pytest.raises(ConfigurationError, match=r"merged into a LinesTable: use delta:/folder, iceberg:catalog"):
        merge_target(LinesTable(path))
    assert state_of(LinesTable(path)) is None
    with pytest.raises(ConfigurationError, match="begins with 'lines'"):
        merged_table(lines)
    land(ROWS, lines, cuts(0, 10), consumer="lake", interval="monday")
    [finding] = compared_table(lines, STREAM, {})["lake"]
    assert (finding.kind, finding.intervals) == (FindingKind.HELD, ("monday",))


def projects() -> list[dict[str, Any]]:
    return [tomllib.loads(file.read_text())["project"] for file in ROOT.glob("*/pyproject.toml")]


def test_the_extra_that_a_kind_names_installs_its_library():
    extras = [each.get("optional-dependencies", {}) for each in projects()]
    for kind in tables.KINDS:
        if kind.library is not None:
            [found] = [each[kind.library.extra] for each in extras if kind.library.extra in each]
            assert any(line.startswith(kind.library.name) for line in found)
            assert kind.library.extra in str(kind.library.missing(kind.title))


def test_the_command_finds_tables_by_an_entry_point_or_names_the_package():
    [entries] = [each["entry-points"][TABLES] for each in projects() if TABLES in each.get("entry-points", {})]
    found = [EntryPoint(name, value, TABLES) for name, value in entries.items()]
    assert table_comparison(found) is compared_table
    with pytest.raises(ConfigurationError, match=r"--table needs pravega-jobs: pip install 'pravega-jobs\[delta\]'"):
        table_comparison([])
    with pytest.raises(ConfigurationError, match="several distributions compare tables"):
        table_comparison([*found, EntryPoint("other", "other.tables:compare", TABLES)])


@pytest.mark.parametrize("address", ["user:secret/more@host/db", "user:first@secret@host/db"])
def test_a_password_that_is_not_encoded_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(ConfigurationError, match="as %40, %3A and %2F") as refused:
        connect(f"postgresql://{address}")
    assert "secret" not in str(refused.value)
