"""The page "Pravega" in Airflow's API server: what it shows, and to whom."""

import uuid
from base64 import b64encode
from functools import partial
from hashlib import sha256
from urllib.parse import quote

import pytest
from airflow.api_fastapi.app import create_app, get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.sdk import DAG
from fastapi.testclient import TestClient

from aiopravega import RetentionPolicy, ScalingPolicy, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Interval
from airflow_pravega.operators.events import PravegaReadEventsOperator, PravegaWriteEventsOperator
from airflow_pravega.operators.reader_group import PravegaDeleteReaderGroupOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor


@pytest.fixture(scope="module")
def server() -> TestClient:
    return TestClient(create_app(apps="core"), follow_redirects=False)


@pytest.fixture
def open_page(server):
    def get(path: str, role: str = "admin"):
        token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=role, role=role))
        return server.get(path, headers={"Authorization": f"Bearer {token}"})

    return get


@pytest.fixture
def taken(run_task, stream, write) -> Interval:
    """The interval of a run that has taken all of the stream, before four more bytes were written."""
    write(b"one")
    result = run_task(partial(PravegaStreamCutSensor, stream=str(stream), since="last")).result()
    write(b"more")
    return Interval(result["consumer"], stream, result["interval"])


def consumer_page(taken: Interval) -> str:
    names = f"stream={quote(str(taken.stream), safe='')}&consumer={quote(taken.consumer, safe='')}"
    return f"/pravega/pravega_default/consumer?{names}"


def stream_page(stream: StreamName) -> str:
    return f"/pravega/pravega_default/stream?stream={quote(str(stream), safe='')}"


def test_it_shows_the_consumers_of_a_scope_and_how_far_behind_they_are(open_page, client, taken):
    overview = f"/pravega/pravega_default?scope={taken.stream.scope}"
    found = open_page(overview)

    assert found.status_code == 200
    assert f">{taken.consumer}</a>" in found.text
    assert ">1 open</span>" in found.text
    assert '<td class="number">23</td>' in found.text  # three and four bytes, and their headers
    assert consumer_page(taken).replace("&", "&amp;") in found.text

    client.cut_ledger(taken.stream.scope).finish(taken)
    assert '<td class="number">12</td>' in open_page(overview).text


def test_what_was_removed_before_it_was_processed_is_shown(open_page, client, taken):
    client.truncate_stream(client.tail(taken.stream))

    for path in (f"/pravega/pravega_default?scope={taken.stream.scope}", consumer_page(taken)):
        assert "were removed before the consumer had processed them" in open_page(path).text


def test_it_shows_the_intervals_of_a_consumer_and_leads_to_their_runs(open_page, taken):
    found = open_page(consumer_page(taken)).text

    dag_id = taken.consumer.split("/")[0]
    assert f'<a href="/dags/{dag_id}/runs/' in found
    assert f">{taken.name}</a>" in found
    assert "handed out at" in found


def test_a_failed_interval_is_shown_with_its_reason_which_is_no_markup(open_page, client, taken):
    client.cut_ledger(taken.stream.scope).fail(taken, "the disk is <b>full</b>", by="a job")

    found = open_page(consumer_page(taken)).text

    assert "1 failed" in found
    assert "the disk is &lt;b&gt;full&lt;/b&gt;" in found
    assert "<b>" not in found


def test_a_done_interval_is_no_finding(open_page, client, taken):
    client.cut_ledger(taken.stream.scope).finish(taken)

    assert "Findings" not in open_page(consumer_page(taken)).text


def test_a_consumer_of_a_deleted_stream_is_still_shown(open_page, client, taken):
    client.delete_stream(taken.stream)

    assert "not known" in open_page(f"/pravega/pravega_default?scope={taken.stream.scope}").text
    assert "how far behind is not known" in open_page(consumer_page(taken)).text


def test_a_scope_without_a_ledger_has_no_consumers(open_page, scope):
    assert "no cut ledger" in open_page(f"/pravega/pravega_default?scope={scope}").text


def test_who_has_not_logged_in_is_sent_to_the_login(server):
    found = server.get("/pravega/pravega_default?scope=some")

    assert found.status_code == 307
    assert found.headers["location"].startswith("/api/v2/auth/login?next=http")
    assert quote("/pravega/pravega_default?scope=some", safe="") in found.headers["location"]


def test_who_may_not_read_connections_sees_nothing(open_page, taken):
    for path in (consumer_page(taken), stream_page(taken.stream), "/pravega/pravega_default?scope=some"):
        found = open_page(path, role="viewer")
        assert found.status_code == 403
        assert taken.consumer not in found.text


def test_what_cannot_be_shown_is_a_page_that_says_why(open_page, nobody):
    away = open_page(f"/pravega/{nobody}?scope=some")
    assert (away.status_code, "127.0.0.1" in away.text) == (502, True)
    missing = open_page("/pravega/missing?scope=some")
    assert (missing.status_code, "missing" in missing.text) == (404, True)
    for wrong in ("page=x", "page=0", "order=best"):
        bad = open_page(f"/pravega/pravega_default?scope=some&{wrong}")
        assert (bad.status_code, "<h1>" in bad.text) == (400, True)
    assert open_page("/pravega/pravega_default/consumer?stream=orders").status_code == 400
    assert open_page("/pravega/pravega_default/consumer?stream=orders&consumer=etl").status_code == 400


def test_a_connection_without_a_scope_leads_to_the_scopes_of_the_cluster(open_page, scope):
    for path in ("/pravega/pravega_default", "/pravega/pravega_default/scopes"):
        found = open_page(path)
        assert found.status_code == 200
        assert f'<a href="/pravega/pravega_default?scope={scope}">{scope}</a>' in found.text
        assert '<input name="scope" required>' in found.text


def test_a_list_is_filtered_in_order_and_the_filter_is_no_markup(open_page, taken):
    shown = f"/pravega/pravega_default?scope={taken.stream.scope}"
    other = open_page(f"{shown}&q=%3Cb%3Enobody&order=name").text
    assert "No consumer has this in its name" in other
    assert 'value="&lt;b&gt;nobody"' in other
    assert '<option value="name" selected>' in other
    assert taken.consumer not in other
    assert f">{taken.consumer}</a>" in open_page(f"{shown}&q={quote(taken.consumer[:8])}").text


def test_the_page_runs_the_script_of_its_theme_and_no_other(open_page, scope):
    found = open_page(f"/pravega/pravega_default?scope={scope}")
    script = found.text.partition("<script>")[2].partition("</script>")[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in found.headers["Content-Security-Policy"]
    assert found.text.count("<script") == 1


def test_it_is_in_the_menu_and_lists_the_connections(open_page):
    plugins = {plugin["name"]: plugin for plugin in open_page("/api/v2/plugins").json()["plugins"]}
    [view] = plugins["pravega"]["external_views"]
    assert (view["name"], view["href"], view["destination"]) == ("Pravega", "/pravega/", "nav")

    assert '<a href="/pravega/pravega_default">' in open_page(view["href"]).text


def test_it_shows_a_stream_and_its_consumers(open_page, client, taken):
    scope, other = taken.stream.scope, StreamName(taken.stream.scope, "other")
    client.create_stream(f"{scope}/other", ScalingPolicy.by_event_rate(1000, 2, 1), RetentionPolicy.bytes(5000))
    tail = client.tail(f"{scope}/stream")
    client.subscribe(f"{scope}/stream", "etl")

    found = open_page(stream_page(taken.stream)).text
    for text in ("open, with 2 segments", "23 from head", "fixed, 2 segments", "all data stays", "etl", tail.to_text()):
        assert text in found
    assert consumer_page(taken).replace("&", "&amp;") in found

    found = open_page(stream_page(other)).text
    for text in ("a segment over 1,000 events/s is split into 2; at least 1 segment", "at least 5,000 bytes stay"):
        assert text in found
    assert taken.consumer not in found

    client.seal_stream(f"{scope}/stream")
    assert "sealed" in open_page(stream_page(taken.stream)).text
    client.unsubscribe(f"{scope}/stream", "etl")
    client.delete_stream(f"{scope}/stream")
    found = open_page(stream_page(taken.stream)).text
    assert "There is no such stream" in found
    assert taken.consumer in found


def test_tasks_lead_to_the_pages_of_their_stream_and_consumer(open_page, run, stream, write):
    write(b"one")
    dag_id = f"links-{uuid.uuid4().hex}"

    class Breaking(PravegaReadEventsOperator):
        def work(self, client, stream, context):
            raise ConfigurationError("broken")

    with DAG(dag_id, schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream), since="last")
        broken = Breaking(task_id="broken", stream=str(stream), stream_cuts=wait.output)
        PravegaDeleteReaderGroupOperator(task_id="group", group=f"{stream.scope}/none")
        read = PravegaReadEventsOperator(task_id="read", stream=str(stream), stream_cuts=wait.output)
        written = PravegaWriteEventsOperator(task_id="write", stream=str(stream), events=["two"])
        read >> written
        read >> broken
    run(dag)
    [dag_run] = open_page(f"/api/v2/dags/{dag_id}/dagRuns").json()["dag_runs"]

    def links(task_id: str) -> dict[str, str]:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{quote(dag_run['dag_run_id'])}/taskInstances/{task_id}/links"
        found: dict[str, str] = open_page(path).json()["extra_links"]
        return found

    expected = consumer_page(Interval(f"{dag_id}/wait", stream, "any"))
    both = {"Pravega consumer": expected, "Pravega stream": stream_page(stream)}
    assert links("wait") == links("read") == links("broken") == both
    assert links("write") == {"Pravega stream": stream_page(stream)}
    assert links("group") == {}
    assert f">{dag_run['logical_date'][:10]}" in open_page(expected).text
    assert f">{dag_id}/wait</a>" in open_page(stream_page(stream)).text
