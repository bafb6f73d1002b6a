"""`pravega kafka` as a person types it, and the code of the page about it, with a real Kafka."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.faults.process import wait_until
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.kafka_topics import cluster, consume, produce, stream, topic
from tests.pages.blocks import block_with

from aiopravega import StreamName
from pravega_jobs.commands.kafka import command
from pravega_jobs.kafka import CopiedPart, CopyOptions, copy_topic

__all__ = ["client", "cluster", "produce", "scope", "stream", "topic"]
pytestmark = pytest.mark.xdist_group("kafka")
PAGE_OUTPUT = "orders and shop/orders: the same: 1 steps, 60 events in 840 bytes, hash da09b76c0f3f9448\n"


def test_the_commands_try_copy_compare_switch_and_go_back(
    pravega_config, kafka, topic, stream, produce, tmp_path, monkeypatch
):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    settings = tmp_path / "kafka.properties"
    settings.write_text(f"# of tests\nbootstrap.servers = {kafka.bootstrap}\n")
    monkeypatch.setenv("PRAVEGA_KAFKA_PROPERTIES", str(settings))

    def typed(*words):
        done = CliRunner().invoke(command, list(words), standalone_mode=False, catch_exceptions=False)
        return done.return_value, done.stdout

    produce(60)
    code, said = typed("copy", topic, str(stream))
    assert (code, said) == (0, f"{topic} to {stream}: 1 steps, 60 events in 840 bytes; 0 offsets are left\n")
    code, said = typed("compare", topic, str(stream), "--json")
    assert (code, json.loads(said)["same"], json.loads(said)["events"]) == (0, True, 60)
    assert PAGE_OUTPUT in Path("docs/how-to/from-kafka.md").read_text()
    said = typed("compare", topic, str(stream))[1]
    assert said.replace(str(stream), "shop/orders").replace(topic, "orders") == PAGE_OUTPUT
    consume(kafka, topic, "billing", 60)
    code, said = typed("cut-over", topic, str(stream), "--group", "billing", "--consumer", "billing")
    assert (code, said.splitlines()[0].partition(" (")[0]) == (0, "billing continues after step 1")
    assert typed("cut-over", topic, str(stream), "--group", "billing", "--decide-again")[0] == 0
    code, said = typed("show", str(stream), "--json")
    assert json.loads(said)["groups"][0]["group"] == "billing"
    assert typed("show", str(stream))[0] == 0
    assert typed("go-back", topic, str(stream), "--group", "billing")[0] == 1
    assert typed("go-back", topic, str(stream), "--group", "billing", "--yes")[0] == 0
    assert typed("copy", "no-such-topic", str(stream))[0] == 2


def test_a_copy_that_is_repeated_outlives_a_kill_of_kafka(
    pravega_config, kafka, topic, stream, produce, tmp_path, monkeypatch
):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    settings, said = tmp_path / "kafka.properties", tmp_path / "said"
    settings.write_text(f"bootstrap.servers={kafka.bootstrap}\n")
    words = ["kafka", "copy", topic, str(stream), "--kafka", str(settings), "--every", "1s", "--timeout", "2s"]
    code = "from aiopravega.commands.main import main; raise SystemExit(main())"
    produce(10)
    with said.open("wb") as log, subprocess.Popen([sys.executable, "-c", code, *words], stdout=log, stderr=log) as copy:

        def says(text):
            wait_until(lambda: text in said.read_text() or copy.poll() is not None, said.read_text, seconds=120)
            assert text in said.read_text()

        try:
            says(" 10 events")
            kafka.kill()
            says("tried again in 1 s")
            kafka.start()
            produce(7)
            says(" 7 events")
        finally:
            copy.kill()


def test_the_code_of_the_page_runs(
    client, pravega_config, kafka, cluster, topic, stream, produce, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kafka.properties").write_text(f"bootstrap.servers={kafka.bootstrap}\n")
    produce(20)
    consume(kafka, topic, "billing", 20)
    client.create_stream(StreamName(stream.scope, "records"))
    copy_topic(client, cluster, topic, f"{stream.scope}/records", options=CopyOptions(events=CopiedPart.RECORD))
    code = "\n".join(block_with("from-kafka", text).code for text in ("compare_copy(", "schema_text=RECORD_SCHEMA"))
    names = {'"shop/': f'"{stream.scope}/', '"orders"': f'"{topic}"'}
    for old, new in names.items():
        code = code.replace(old, new)
    exec(code, {})
    said = capsys.readouterr().out
    assert said.startswith("20 True ")
    assert said.endswith("['key', 'value', 'headers', 'partition', 'offset', 'timestamp']\n")
