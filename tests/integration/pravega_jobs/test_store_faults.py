"""S3 behind a network that fails: a work is there once, or fails with a clear error and is there once when repeated."""

import uuid
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from tests.faults.s3_proxy import Fault, S3Proxy
from tests.integration.pravega_jobs.landing_job import new_lake, where_of
from tests.integration.pravega_jobs.store_works import WORKS, Work
from tests.integration.pravega_jobs.upkeep_job import kept_up
from tests.system.s3_server import S3Server
from tests.system.servers import free_ports

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing import Action, Iceberg

# Clients of a bucket are kept: this one is asked through the proxy only.
BUCKET = "behind-a-proxy"
# All faults that a run survives.
FAULTS = (Fault.SLOW, Fault.BUSY, Fault.CUT, Fault.LOST, Fault.HALF, Fault.FAILED, Fault.TWICE)
COMMITS = r"PUT .*(/_delta_log/|\.metadata\.json)"


@pytest.fixture(scope="module")
def proxy(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Proxy]:
    urlopen(Request(f"{s3_server.url}/{BUCKET}", method="PUT")).close()
    with S3Proxy(s3_server.url, free_ports(1)[0], tmp_path_factory.mktemp("proxy") / "proxy.log") as running:
        yield running


@pytest.fixture(params=["delta-s3", "iceberg-s3"])
def make_lake(request, proxy, s3_server, monkeypatch, tmp_path: Path) -> Callable[[], Any]:
    """Makes lakes that share nothing."""
    for name, value in (s3_server.environment() | {"AWS_ENDPOINT_URL": proxy.url}).items():
        monkeypatch.setenv(name, value)

    def make() -> Any:
        name = uuid.uuid4().hex
        address = f"s3://{BUCKET}/{name}"
        return new_lake(request.param, address if request.param == "delta-s3" else f"{tmp_path}/{name}#{address}")

    return make


def is_exact_with(proxy: S3Proxy, lake: Any, work: Work, fault: Fault, at: int, times: int = 1, of: str = "") -> bool:
    """Do a work while requests have a fault, then repeat it; returns False if no request had it."""
    table = work.prepare(lake)
    proxy.plan(fault, at, times=times, of=of)
    try:
        work.run(lake, table)
        is_done = True
    except LandingError as error:
        assert error.retryable, error
        is_done = False
    struck = proxy.seen()[1]
    proxy.plan()
    about = f"{fault} at {at}: {struck}"
    found = work.judged(table)
    assert found == work.after or (not is_done and found == work.before), about
    work.run(lake, table)
    assert work.judged(table) == work.after, about
    assert len(table.holdings()) == work.held, about
    kept_up(table)
    assert work.judged(table) == work.after, about
    assert lake.leftovers(table) == [], about
    return bool(struck)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(name, fault, marks=() if fault is Fault.TWICE and name == "merge" else pytest.mark.slow)
        for name in WORKS
        for fault in (Fault.TWICE, Fault.LOST, Fault.FAILED)
    ],
)
def test_a_commit_whose_answer_is_lost_is_found_and_is_there_once(proxy, make_lake, name, fault):
    for at in count():
        if not is_exact_with(proxy, make_lake(), WORKS[name], fault, at, of=COMMITS):
            break
    assert at


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize("shift", range(len(FAULTS)))
def test_whatever_request_fails_a_work_is_exact_or_is_repeated(proxy, make_lake, name, shift):
    for at in count():
        # One, two or three requests one after the other.
        if not is_exact_with(proxy, make_lake(), WORKS[name], FAULTS[(at + shift) % len(FAULTS)], at, 1 + at % 3):
            break
    assert at > len(FAULTS)


@pytest.mark.parametrize("make_lake", ["delta-s3"], indirect=True)
@pytest.mark.parametrize("name", WORKS)
def test_a_store_that_writes_what_exists_is_refused_before_rows(proxy, make_lake, name):
    lake, work = make_lake(), WORKS[name]
    table = lake.rename(work.prepare(lake))  # a store is tried once for each address
    before = lake.objects(lake.where)
    proxy.plan(Fault.UNCONDITIONAL, times=1000)
    with pytest.raises(ConfigurationError, match="(?s)s3://behind-a-proxy/.*would lose one.*iceberg:"):
        work.run(lake, table)
    puts = [each for each in proxy.seen()[0] if each.startswith("PUT ")]
    proxy.plan()
    assert len(puts) == 4
    assert all("/_written-once-" in each for each in puts)
    assert lake.objects(lake.where) == before
    work.run(lake, table)
    assert work.judged(table) == work.after
    assert not [each for each in lake.objects(lake.where) if "_written-once-" in each]


class TwiceCatalog(SqlCatalog):
    """A catalog of Iceberg to which commits are sent twice, as by libraries that have lost the first answer."""

    def commit_table(self, *args: Any) -> Any:
        """Commit, and refuse the commit that has succeeded."""
        super().commit_table(*args)
        raise CommitFailedException("the table has changed meanwhile")


@pytest.mark.parametrize("kind", ["iceberg", pytest.param("iceberg-s3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WORKS)
def test_files_of_a_commit_that_is_refused_the_second_time_stay(kind, name, request):
    lake, work = new_lake(kind, where_of(kind, request.getfixturevalue).replace("*", "lake")), WORKS[name]
    table = work.prepare(lake)
    catalog = {key: value for key, value in lake.properties.items() if key != "type"}
    done = work.run(
        lake, Iceberg(table.identifier, properties=catalog | {"py-catalog-impl": f"{__name__}.TwiceCatalog"})
    )
    assert done is not Action.NOTHING
    assert getattr(done, "action", Action.MERGE) is Action.MERGE
    for _ in range(2):
        assert work.judged(table) == work.after
        assert len(table.holdings()) == work.held
        kept_up(table)
    assert lake.leftovers(table) == []
