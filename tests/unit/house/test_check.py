"""`make check`: all checks run, each output is shown under its name, the last line names those that failed."""

import sys
import threading

import pytest
from tools import check


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def run(**checks: list[list[str]]) -> tuple[int, list[str]]:
    """Returns the exit status, and what was shown: a text for each check, and the last line."""
    shown: list[str] = []
    return check.check(checks, shown.append), shown


GOOD, BAD = [python("print('all is well')")], [python("print('a line is too long'); exit(3)")]


def test_all_checks_run_though_one_failed() -> None:
    status, shown = run(lint=BAD, types=GOOD, pages=BAD)

    assert (status, shown[-1]) == (1, "failed: lint, pages")
    assert len(shown) == 4


def test_the_output_of_a_check_is_below_its_name() -> None:
    _, shown = run(lint=BAD)

    head, *output = shown[0].splitlines()
    assert head.startswith("== lint (FAILED, ")
    assert output == ["a line is too long"]


def test_checks_that_pass_end_with_status_zero() -> None:
    status, shown = run(lint=GOOD, types=GOOD)

    assert (status, shown[-1]) == (0, "passed: lint, types")


def test_the_second_command_of_a_check_runs_after_a_failure() -> None:
    status, shown = run(lint=[*BAD, *GOOD])

    assert status == 1
    assert "a line is too long\nall is well" in shown[0]


def test_output_to_stderr_is_shown() -> None:
    _, shown = run(types=[python("import sys; sys.stderr.write('no such module')")])

    assert "no such module" in shown[0]


def test_checks_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    met = threading.Barrier(check.AT_A_TIME, timeout=60)

    def meet(name: str, _: list[list[str]]) -> check.Outcome:
        met.wait()
        return check.Outcome(name, "", passed=True, seconds=0)

    monkeypatch.setattr(check, "run", meet)

    assert run(lint=GOOD, types=GOOD)[0] == 0


def test_an_unknown_check_is_refused_with_the_names_of_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["check", "spelling"])

    with pytest.raises(SystemExit):
        check.main()

    assert "unknown: spelling; there are mypy, site" in capsys.readouterr().err


def test_mending_continues_after_a_tool_that_failed(capfd: pytest.CaptureFixture[str]) -> None:
    assert check.fix([*BAD, *GOOD]) == 3
    assert "all is well" in capfd.readouterr().out
