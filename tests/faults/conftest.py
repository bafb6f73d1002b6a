"""Runs the chosen cases of a round when the first of them is asked for, and keeps what came out of it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

import pytest
from tests.faults import report
from tests.faults.between import LEASE_SECONDS
from tests.faults.case import Case, Result
from tests.faults.faults import TOKEN_SECONDS
from tests.faults.field import field
from tests.faults.rounds import Round

from aiopravega import PravegaConfig
from pravega_emulator import DurablePravega, PravegaEmulator

# The official client, which judges, has no wheels beyond Python 3.11: there these tests do not exist.
collect_ignore = [] if sys.version_info < (3, 12) else ["test_matrix.py"]

Outcome = Callable[[Round, Case], Result]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store-faults", action="store_true", help="store the results, for the table in the docs")


@pytest.fixture(scope="session")
def durable() -> Iterator[Callable[[], DurablePravega]]:
    """A cluster whose processes can be killed, with authentication and short-lived tokens."""
    with ExitStack() as stack:
        started: list[DurablePravega] = []

        def start() -> DurablePravega:
            if not started:
                started.append(stack.enter_context(DurablePravega(auth=True, token_seconds=TOKEN_SECONDS)))
            return started[0]

        yield start


@pytest.fixture(scope="session")
def short_leases() -> Iterator[Callable[[], PravegaConfig]]:
    """A server that grants short leases only."""
    with ExitStack() as stack:
        started: list[PravegaEmulator] = []

        def start() -> PravegaConfig:
            if not started:
                settings = {"controller.transaction.lease.count.max": str(LEASE_SECONDS * 1000)}
                started.append(stack.enter_context(PravegaEmulator(settings=settings, heap_megabytes=1024)))
            return started[0].config

        yield start


@pytest.fixture(scope="session")
def outcome(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    durable: Callable[[], DurablePravega],
    short_leases: Callable[[], PravegaConfig],
) -> Outcome:
    """The result of a case of a round, which runs once; if the round fails, all its cases fail."""
    kept: dict[str, dict[str, Result] | None] = {}
    chosen = set(_names(request.session.items))

    def run(wanted: Round) -> dict[str, Result]:
        cluster = durable() if wanted.server == "durable" else None
        if cluster is not None:
            config = cluster.config
        elif wanted.server == "short leases":
            config = short_leases()
        else:
            config = request.getfixturevalue("pravega_config")
        cases = [case for case in wanted.cases if case.name in chosen]
        with field(config, tmp_path_factory.mktemp(wanted.name), cases, cluster) as ready:
            results = wanted.fault(ready)
        if request.config.getoption("--store-faults"):
            report.store(wanted, results)
        return results

    def outcome(wanted: Round, case: Case) -> Result:
        if wanted.name not in kept:
            kept[wanted.name] = None
            kept[wanted.name] = run(wanted)
        found = kept[wanted.name]
        assert found is not None, f"the round {wanted.name} failed, see its first case"
        return found[case.name]

    return outcome


def _names(items: Iterable[pytest.Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            case = item.callspec.params.get("case")
            if isinstance(case, Case):
                yield case.name
