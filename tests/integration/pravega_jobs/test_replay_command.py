"""`pravega replay` as a person types it: exit status, text, JSON, page, errors of the code."""

import json

import pytest
from click.testing import CliRunner
from tests.integration.pravega_jobs.replay_job import (
    DAYS,
    READ,
    again,
    both_days,
    client,
    flights,
    process,
    scope,
)

from pravega_jobs.commands.replay import command

__all__ = ["again", "both_days", "client", "flights", "process", "scope"]


@pytest.fixture
def typed(pravega_config, monkeypatch, tmp_path, flights):
    """The exit status of `pravega replay` of both days, what it prints, and what it complains about."""
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    monkeypatch.chdir(tmp_path)
    days = [word for day in DAYS for word in ("--interval", day)]
    read = [word for name, value in READ.items() for word in ("-o", f"{name}={value}")]

    def typed(*words):
        given = [str(flights), "--consumer", "delays", *days, *read, *words]
        code = CliRunner().invoke(command, given, standalone_mode=False)
        if code.exception is not None:
            raise code.exception
        return code.return_value, code.stdout, code.stderr

    return typed


@pytest.mark.usefixtures("both_days")
def test_the_command_answers_by_its_exit_status(typed, tmp_path, scope):
    (tmp_path / "deployed_jobs.py").write_text(
        "import duckdb\n\n"
        "def minutes(flights: duckdb.DuckDBPyRelation):\n"
        "    return flights.filter('delay IS NOT NULL')\n\n"
        "def hours(flights: duckdb.DuckDBPyRelation):\n"
        "    return minutes(flights).project('id, carrier, delay / 60 AS delay')\n\n"
        "def broken(flights: duckdb.DuckDBPyRelation):\n"
        "    return flights.filter('no_such_column')\n"
    )
    code, out, err = typed("--with", "deployed_jobs:minutes", "--key", "id")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"same: deployed_jobs:minutes on 'delays' of {scope}/flights, compared with {scope}/delays",
        *(f"  {day}: 180 rows then, 180 now: 0 added, 0 removed, 0 changed" for day in DAYS),
    ]
    code, out, _ = typed("--with", "deployed_jobs:hours", "--key", "id", "--json", "--page", "replay.html")
    found = json.loads(out)
    assert (code, found["same"], found["columns"][0]["column"]) == (1, False, "delay")
    assert found["columns"][0]["samples"][0] == {"key": {"id": 101}, "before": 50.5, "now": 50.5 / 60}
    page = (tmp_path / "replay.html").read_text()
    assert '<span class="different">different</span>' in page
    assert "<td>delay</td><td>{&quot;id&quot;: 101}</td><td>50.5</td>" in page
    code, out, err = typed("--with", "deployed_jobs:broken")
    assert (code, out) == (2, "")
    assert "error: ReplayError: deployed_jobs:broken raised BinderException" in err
    code, _, err = typed("--with", "deployed_jobs:minutes", "--interval", "2020-01-01")
    assert (code, "interval '2020-01-01' of 'delays'" in err) == (2, True)
    raw = ["-o", f"{scope}/delays:decode=json", "-o", f"{scope}/delays:columns=id long"]
    assert typed("--with", "deployed_jobs:hours", "--key", "id", *raw)[0] == 0
