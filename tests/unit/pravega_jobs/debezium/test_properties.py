"""Files of settings are read as `java.util.Properties` reads them."""

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.server.properties import read_properties


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (r"a=([^.]+)\\.([^.]+)\\.([^.]+)", {"a": r"([^.]+)\.([^.]+)\.([^.]+)"}),
        (r"a=x\=y\:z\#\!", {"a": "x=y:z#!"}),
        (r"a\=b\:c\ d=1", {"a=b:c d": "1"}),
        (r"a=caf\u00e9 \u20AC\\u0041", {"a": "café €\\u0041"}),
        (r"a=one\ttwo\nthree\qfour", {"a": "one\ttwo\nthreeqfour"}),
        ("a=1,\\\n   2,\\\r\n\t3\nb=4", {"a": "1,2,3", "b": "4"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1,\\\n# 2", {"a": "1,# 2"}),
        ("a b\n  c : d\n\te\tf", {"a": "b", "c": "d", "e": "f"}),
        ("# no\n! no\n\n  # no\\\na=1", {"a": "1"}),
        ("a=b=c: d", {"a": "b=c: d"}),
        ("a=\nb:\nc= x ", {"a": "", "b": "", "c": "x "}),
        ("a=1\na=2", {"a": "2"}),
        ("a=\xa0x\x0by\x85z", {"a": "\xa0x\x0by\x85z"}),
        ("a=1\\", {"a": "1"}),
    ],
)
def test_a_file_is_read_as_java_reads_it(text, settings):
    assert read_properties(text) == settings


@pytest.mark.parametrize(("text", "message"), [("a=1\nnonsense", "'nonsense'"), (r"a=\u00z", "hexadecimal")])
def test_a_line_that_java_refuses_or_that_has_no_value_is_refused(text, message):
    with pytest.raises(ConfigurationError, match=message):
        read_properties(text)
