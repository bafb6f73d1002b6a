"""Files that Spark wrote, in the order of their parts, whatever their random names look like."""

from pravega_jobs.spark.file_digest import _place


def test_a_file_has_the_number_of_its_part():
    assert _place("file:/data/part-00003-1851fe1f-5b8e-40cc-98b1-4109a1041268-c001.snappy.parquet") == (
        "file:/data",
        3,
        1,
    )
    assert _place("file:/data/part-00012-8de8066b-f59f-4977-9113-c578105b4704-c000.json")[1:] == (12, 0)
    assert _place("file:/data/part-00000-c1234567-f59f-4977-9113-c57810554704-c002")[1:] == (0, 2)
