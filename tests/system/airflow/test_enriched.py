"""A job of Java enriches a stream: Airflow waits for its reader group, runs Spark, and has a day enriched again."""

import ast
from typing import Any

import pytest
from tests.java.peer import JavaGroups
from tests.pages.blocks import blocks_of
from tests.system.airflow.conftest import DAGS

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("airflow_processes")]

STREAM = StreamName("system-enriched", "orders")
GROUP = "enrich"
EVENTS = [f"order {number}" for number in range(20)]


class Enricher:
    """A job of Java that reads with the group, and says what it has read."""

    def __init__(self, peer: JavaGroups) -> None:
        self._peer = peer

    def ask(self, what: str, **how: object) -> dict[str, Any]:
        return self._peer.ask(what, scope=STREAM.scope, group=GROUP, **how)

    def read(self) -> list[str]:
        """A second of its work."""
        answer = self.ask("read", reader="job", events=1000, seconds=1)
        return [each["event"] for each in answer["read"] if "event" in each]


def dags_in(code: str) -> list[str]:
    """The statements `with DAG(…)` of a text, however its lines are broken."""
    return [ast.unparse(statement) for statement in ast.parse(code).body if isinstance(statement, ast.With)]


def test_the_code_is_that_of_the_how_to_guide():
    shown = [dag for block in blocks_of("reader-groups") if "with DAG(" in block.code for dag in dags_in(block.code)]
    assert dags_in((DAGS / "enriched.py").read_text(encoding="utf-8")) == shown


def test_spark_waits_for_java_and_a_day_is_enriched_again(airflow, make_stream, pravega_config, tmp_path):
    write, api = make_stream(str(STREAM)), airflow.api
    with JavaGroups(pravega_config.controller_uri, tmp_path) as peer:
        job = Enricher(peer)
        streams = {STREAM.stream: ["UNBOUNDED", "UNBOUNDED"]}
        assert job.ask("create", streams=streams, automatic=1000, retention="NONE")["done"]
        write(*EVENTS)
        dag_id = "report_after_enrichment"
        api.unpause(dag_id, "enrich_again")
        run = api.trigger(dag_id)
        api.wait_for_task(dag_id, run, "enriched", "deferred")
        assert api.task(dag_id, run, "report")["state"] is None

        job.ask("open", reader="job")
        found: list[str] = []

        def has_read(dag_id: str, run: str) -> bool:
            found.extend(job.read())
            return bool(api.task(dag_id, run, "enriched")["state"] == "success")

        api.wait(lambda: has_read(dag_id, run), "the job has passed the day")
        api.wait_for_run(dag_id, run)
        assert sorted(found) == sorted(EVENTS)
        assert api.result(dag_id, run, "report")["rows"] == len(EVENTS)
        job.ask("close", reader="job")

        found.clear()
        day = api.result(dag_id, run, "day")
        again = api.trigger("enrich_again", conf={name: day[name] for name in ("start", "end")})
        api.wait_for_task("enrich_again", again, "again", "success")
        job.ask("open", reader="job")
        api.wait(lambda: has_read("enrich_again", again), "the day is enriched again")
        api.wait_for_run("enrich_again", again)
        assert sorted(found) == sorted(EVENTS)
        job.ask("close", reader="job")
