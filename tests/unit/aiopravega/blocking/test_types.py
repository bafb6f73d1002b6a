"""mypy sees through the bridge: this module is checked with `make check`, and a wrong call in it must be one."""

from typing import assert_type
from uuid import UUID

from aiopravega import PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import CommitLedger, CutLedger, EventWriter, PravegaClient, Transaction, TransactionHandle
from aiopravega.blocking.intervals import next_start, plan_parts, record_plan
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.blocking.serializers import Deserializer, open_deserializer, open_serializer
from aiopravega.control import TransactionState
from aiopravega.event_time import Watermark
from aiopravega.intervals import BackfillPlan, NextStart
from aiopravega.ledger import CutRecord, Interval, StoredCommit
from aiopravega.loop import Items
from aiopravega.read import Event
from aiopravega.routing import SegmentMap
from aiopravega.schema import Encoding, GroupProperties, VersionInfo
from aiopravega.schema.serializers import EventFormat, Serializer


def results(client: PravegaClient, txn_id: UUID, wanted: StreamCutRange) -> None:
    """What calls return; never called, only checked."""
    assert_type(client.config, PravegaConfig)
    assert_type(client.head("examples/orders"), StreamCut)
    assert_type(client.split(wanted, max_bytes=1000), list[StreamCutRange])
    assert_type(client.read(wanted), Items[Event])
    assert_type(client.watermarks("examples/orders", follow=True), Items[Watermark])
    assert_type(client.attach_transaction("examples/orders", txn_id), TransactionHandle)
    assert_type(client.open_transaction("examples/orders", lease=30).state(), TransactionState)
    assert_type(client.commit_ledger("examples"), CommitLedger)
    with client.transaction("examples/orders") as transaction, client.writer("examples/orders") as writer:
        assert_type(transaction, Transaction)
        assert_type(transaction.segments, SegmentMap)
        assert_type(writer, EventWriter)
        assert_type(writer.segments, SegmentMap)


def objects(registry: SchemaRegistry, form: EventFormat, ledger: CommitLedger, stream: StreamName) -> None:
    """What the other clients return; never called, only checked."""
    assert_type(ledger.lookup(stream, "daily"), StoredCommit | None)
    assert_type(registry.groups("examples"), Items[tuple[str, GroupProperties]])
    assert_type(registry.add_schema("orders", form.info), VersionInfo)
    assert_type(open_serializer(registry, "orders", form, header=False), Serializer)
    assert_type(open_deserializer(registry, "orders", form, limit=10), Deserializer)
    assert_type(open_deserializer(registry, "orders").encoding(b""), Encoding)


def functions(client: PravegaClient, ledger: CutLedger, interval: Interval, cut: StreamCut) -> None:
    """What functions on a client and a ledger return; never called, only checked."""
    assert_type(next_start(client, ledger, interval, cut), NextStart)
    assert_type(plan_parts(client, interval.stream, "daily", parts=2, ledger=ledger), BackfillPlan)
    plan = plan_parts(client, interval.stream, "daily")
    assert_type(record_plan(ledger, plan), list[CutRecord])
    next_start(client, ledger.asynchronous, interval, cut)  # type: ignore[arg-type]  # it takes the blocking form
    next_start(ledger, client, interval, cut)  # type: ignore[arg-type]  # in this order only


def mistakes(client: PravegaClient, registry: SchemaRegistry, writer: EventWriter) -> None:
    """What mypy must refuse: it reports a comment that silences nothing."""
    client.head()  # type: ignore[call-arg]  # the stream is missing
    client.head(1)  # type: ignore[arg-type]  # a stream is a StreamName or a text
    client.head("examples", "orders")  # type: ignore[call-arg]  # the two-text form is for programs that have it
    client.split(client.head("a/b"))  # type: ignore[arg-type]  # a cut is not a range
    client.writer("examples/orders", "me")  # type: ignore[call-arg]  # a writer's id is given by name
    writer.write("text")  # type: ignore[arg-type]  # an event is bytes
    registry.latest("orders", type=1)  # type: ignore[call-arg]  # there is no such argument
    open_serializer(client, "orders")  # type: ignore[call-arg,arg-type]  # a client is not a registry


def test_functions_that_mypy_checks_are_callable():
    assert callable(results)
    assert callable(objects)
    assert callable(functions)
    assert callable(mistakes)
