"""`pravega cuts whole` as a person types it, against a real server."""

import json
import uuid

import pytest

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.commands.main import main


@pytest.fixture
def blocking(pravega_config, monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    with PravegaClient(pravega_config) as client:
        yield client


@pytest.fixture
def stream(blocking):
    name = StreamName(f"whole-{uuid.uuid4().hex}", "stream")
    blocking.create_scope(name.scope)
    blocking.create_stream(name, ScalingPolicy.fixed(2))
    return name


def test_cuts_between_transactions_of_a_database_are_printed(blocking, stream, terminal):
    source = '"op":"c","source":{"db":"shop","table":"a"}'
    ends = '{"status":"END","id":"1","data_collections":[{"data_collection":"shop.a","event_count":2}]}'
    blocking.create_stream(f"{stream.scope}/transactions")
    with blocking.writer(f"{stream.scope}/transactions") as writer:
        writer.write(ends.encode(), "1")

    def write(transaction: str, number: int) -> str:
        text = f'{{{source},"transaction":{{"id":"{transaction}","data_collection_order":{number}}}}}'
        with blocking.writer(stream) as writer:
            writer.write(text.encode(), "key")
        return str(blocking.tail(stream).to_text())

    begun, whole, tail = write("1", 1), write("1", 2), write("2", 1)
    asked = ["whole", f"{stream.scope}/transactions", "--table", f"shop.a={stream}"]

    assert main(["cuts", *asked, "--json"]) == 0
    assert json.loads(terminal.readouterr().out) == {"ends": {str(stream): whole}, "waits_for": {"2": None}}
    head = blocking.head(stream).to_text()
    assert main(["cuts", *asked, "--start", head, "--end", begun]) == 0
    shown = terminal.readouterr().out.splitlines()
    assert shown[1].split()[0] == str(stream)
    assert shown[2:] == ["transaction 1: 1 changes are missing"]
    assert main(["cuts", *asked, "--start", whole, "--end", tail]) == 0
    assert terminal.readouterr().out.splitlines()[2:] == ["transaction 2: no end yet"]
    assert main(["cuts", *asked[:2], "--table", str(stream)]) == 2
    assert "write NAME=STREAM" in terminal.readouterr().err
