"""Addresses of tables in object stores: what names one, what is refused, and what they never show."""

import pickle

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing import folder_of, table_of
from pravega_jobs.landing.locations import store_location


@pytest.mark.parametrize("address", ["s3://lake/a/b", "gs://lake/a/b", "abfss://lake@shop.dfs.core.windows.net/a/b"])
def test_an_address_in_a_store_names_a_delta_table(address):
    table = table_of(f"delta:{address}/")
    assert (table.location(), folder_of(f"delta:{address}")) == (f"delta:{address}", None)
    location = store_location(address).child("landing")
    assert (location.file("part"), pickle.loads(pickle.dumps(location))) == (f"{address}/landing/part", location)


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("s3://lake", "needs a path of letters, digits"),
        ("s3://lake/a b", "needs a path of letters, digits"),
        ("s3://lake/a/../b", "needs a path of letters, digits"),
        ("hdfs://name:8020/a", "cannot be in a store at hdfs://: write s3://"),
        ("s3://key:geheim@lake/a", "Keys belong in the environment"),
        ("abfss://lake/a", "abfss://container@account"),
    ],
)
def test_an_address_that_libraries_read_differently_is_refused(address, complaint):
    with pytest.raises(ConfigurationError, match=complaint) as refused:
        table_of(f"delta:{address}")
    assert "geheim" not in str(refused.value)


def test_a_folder_of_parquet_files_in_a_store_is_refused_with_a_way_out():
    with pytest.raises(ConfigurationError, match=r"cannot rename a folder.*write delta:s3://bucket/path"):
        table_of("parquet:s3://lake/orders")
