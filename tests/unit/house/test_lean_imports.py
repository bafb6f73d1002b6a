"""What is not imported: each process of Spark, of a scheduler and each command pays for its imports anew."""

import subprocess
import sys

import pytest

_HEAVY = ("grpc", "pyarrow", "numpy", "pydantic", "google.protobuf", "pyspark", "sqlalchemy", "fastavro")


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import aiopravega, aiopravega.errors, aiopravega.cuts", ()),
        ("import aiopravega.commands.main", ()),  # `pravega --help`
        ("import pyspark_pravega.source", ("pyspark",)),  # every session of Spark, to know the format's name
        ("from aiopravega import PravegaClient", ("grpc", "pydantic", "google.protobuf")),
        # A process of Spark that plans a streaming query, and each task.
        ("import pyspark_pravega.read.stream", ("grpc", "pyarrow", "numpy", "pydantic", "google.protobuf", "pyspark")),
        ("import dagster_pravega", ("grpc", "pydantic", "google.protobuf")),
    ],
)
def test_an_import_brings_no_more_than_it_needs(statement: str, allowed: tuple[str, ...]) -> None:
    program = f"{statement}\nimport sys\nprint(*sorted(set(sys.modules) & {set(_HEAVY)}))"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert set(ran.stdout.split()) <= set(allowed)
