"""Both forms of the client have the same names, parameters and docstrings; each exception has its reason here."""

import inspect
from types import ModuleType
from typing import Any

import pytest

from aiopravega import blocking, catalog, client, schema
from aiopravega import intervals as aio_intervals
from aiopravega.blocking import blocks, intervals, serializers
from aiopravega.blocking.bridge import Face, OpenFace, without_await
from aiopravega.blocking.catalog import PravegaCatalog
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.intervals.chain import claims, losses, next_range
from aiopravega.intervals.conditions import bounded_ends
from aiopravega.intervals.plans import backfill
from aiopravega.intervals.reports import freshness, lag
from aiopravega.schema import serializers as aio_serializers
from aiopravega.schema.open import blocks as opening

CLASSES = [
    "BlockReader", "CommitLedger", "CommitProtocol", "CutLedger", "Deserializer", "EncodingCache", "EventWriter",
    "Follower", "KeyValueTable", "LeaseKeeper", "PravegaCatalog", "PravegaClient", "SchemaRegistry", "TakenRange",
    "Transaction", "TransactionHandle",
]  # fmt: skip

# The way from the blocking form to the asyncio one, which all have.
WAY = {"asynchronous", "loop", "run"}
ONLY_BLOCKING = {
    "EventWriter.queue": "single events cross to the loop's thread in batches",
    "Transaction.queue": "single events cross to the loop's thread in batches",
    "PravegaClient.of": "it is the way from the asyncio form to the blocking one",
    "PravegaClient.locate": "a reader with sockets of its own blocks; the asyncio client has it in `store`",
}
ONLY_ASYNCIO = {
    "BlockReader.blocks": "the blocking form decodes with it in its caller's thread",
    "BlockReader.learn": "the blocking form calls it where it has to wait",
    "BlockReader.unknown": "the blocking form asks it whether it has to wait",
    "CommitLedger.join": "a part of the protocol, which no program calls",
    "CommitLedger.lease_notes": "a part of the protocol, which no program calls",
    "CommitLedger.owner": "a part of the protocol, which no program calls",
    "CommitLedger.pending": "a part of the protocol, which no program calls",
    "CommitLedger.put": "a part of the protocol, which no program calls",
    "CommitLedger.sweeper": "a part of the protocol, which no program calls",
    "CommitLedger.turns": "a part of the protocol, which no program calls",
    "Follower.fill": "the blocking form calls it where it has to wait",
    "Follower.take": "the blocking form takes events with it in its caller's thread",
    "KeyValueTable.create_if_missing": "a part of the ledgers, which make their tables by it",
    "Deserializer.readers": "the blocking form reads with it in its caller's thread",
}
FUNCTIONS = [
    (serializers, aio_serializers, ["open_serializer", "open_multi_serializer", "open_deserializer"]),
    (blocks, opening, ["open_block_serializer", "open_block_reader"]),
]
# Functions of modules of `aiopravega.intervals` whose blocking form is beside those of the package.
OF_MODULES = {
    "claim_times_again": claims,
    "count_events": bounded_ends,
    "freshness_of": freshness,
    "group_freshness_of": freshness,
    "lag_of": lag,
    "left_to_process": losses,
    "record_plan": backfill,
    "take_next": next_range,
}
# They are about Debezium's transactions, which are not known to the blocking form.
ONLY_ASYNCIO_INTERVALS = {"WholeTransactions", "whole_transactions"}


def public(owner: object) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def parameters(function: Any) -> list[inspect.Parameter]:
    """Without the first, which is the object, or its blocking form."""
    return list(inspect.signature(function).parameters.values())[1:]


def test_every_class_is_compared(faces):
    def below(face: type[Face[Any]]) -> set[type[Face[Any]]]:
        return {face}.union(*(below(other) for other in face.__subclasses__()))

    found = {face.__name__ for face in below(Face) if face.__module__.startswith("aiopravega.")}
    assert found - {"Face", "LedgerFace", "OpenFace", "OpeningTransaction"} == set(CLASSES) == set(faces)


@pytest.mark.parametrize("name", CLASSES)
def test_both_forms_have_the_same_names(faces, name: str):
    face = faces[name]
    ours, theirs = public(face) - WAY, public(face.asynchronous)
    assert ours - theirs == {one.removeprefix(f"{name}.") for one in ONLY_BLOCKING if one.startswith(f"{name}.")}
    assert theirs - ours == {one.removeprefix(f"{name}.") for one in ONLY_ASYNCIO if one.startswith(f"{name}.")}


@pytest.mark.parametrize("name", CLASSES)
def test_methods_have_the_same_parameters_and_docstrings(faces, name: str):
    ours, theirs = type(faces[name]), type(faces[name].asynchronous)
    for method in public(ours) & public(theirs):
        call, waited = getattr(ours, method), getattr(theirs, method)
        if inspect.isfunction(waited):
            assert parameters(call) == parameters(waited), method
            assert call.__name__ == waited.__name__ == method
            assert not inspect.iscoroutinefunction(call)
        assert inspect.getdoc(call) == without_await(inspect.getdoc(waited)), method


@pytest.mark.parametrize("name", CLASSES)
def test_attributes_have_the_same_values(faces, name: str):
    face = faces[name]
    for attribute in public(face) & set(vars(face.asynchronous)):
        ours, theirs = getattr(face, attribute), getattr(face.asynchronous, attribute)
        assert (ours.asynchronous if isinstance(ours, Face) else ours) is theirs, attribute


@pytest.mark.parametrize("name", CLASSES)
def test_no_method_returns_an_object_whose_calls_are_coroutines(faces, name: str):
    asynchronous = {type(face.asynchronous) for face in faces.values()} | {client.OpeningTransaction}
    for method in public(type(faces[name])) - WAY:
        call = getattr(type(faces[name]), method)
        if inspect.isfunction(call):
            assert inspect.signature(call).return_annotation not in asynchronous, method


@pytest.mark.parametrize("name", CLASSES)
def test_both_forms_are_context_managers_or_neither(faces, name: str):
    assert hasattr(faces[name], "__enter__") == hasattr(faces[name].asynchronous, "__aenter__")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (blocking.PravegaClient, client.PravegaClient),
        (SchemaRegistry, schema.SchemaRegistry),
        (PravegaCatalog, catalog.PravegaCatalog),
    ],
)
def test_what_programs_make_takes_the_same_arguments(ours: type[OpenFace[Any]], theirs: type[Any]):
    names = [[(one.name, one.kind, one.default) for one in parameters(made.__init__)] for made in (ours, theirs)]
    assert names[0] == names[1]


@pytest.mark.parametrize(("ours", "theirs", "names"), FUNCTIONS)
def test_functions_have_the_same_parameters_and_docstrings(ours: ModuleType, theirs: ModuleType, names: list[str]):
    assert {name for name in ours.__all__ if name.startswith("open")} == set(names)
    for name in names:
        call, waited = getattr(ours, name), getattr(theirs, name)
        assert parameters(call) == parameters(waited)
        assert inspect.getdoc(call) == without_await(inspect.getdoc(waited))


def test_intervals_have_the_same_names():
    assert set(intervals.__all__) == set(aio_intervals.__all__) - ONLY_ASYNCIO_INTERVALS | set(OF_MODULES)


@pytest.mark.parametrize("name", intervals.__all__)
def test_functions_of_intervals_have_the_same_parameters_and_docstrings(name: str):
    call, waited = getattr(intervals, name), getattr(OF_MODULES.get(name, aio_intervals), name)
    if not inspect.iscoroutinefunction(waited):
        assert call is waited or call.__name__ in CLASSES
        return
    by_name = inspect.Parameter.KEYWORD_ONLY  # the objects of the asyncio API are given by position
    shapes = [[(one.name, one.kind is by_name, one.default) for one in parameters(made)] for made in (call, waited)]
    assert shapes[0] == shapes[1]
    assert inspect.getdoc(call) == without_await(inspect.getdoc(waited))
    assert not inspect.iscoroutinefunction(call)
    ours, theirs = (inspect.signature(made).return_annotation for made in (call, waited))
    assert ours == theirs or ours.__name__ == theirs.__name__ in CLASSES
    assert next(iter(inspect.signature(call).parameters.values())).kind is inspect.Parameter.POSITIONAL_ONLY
