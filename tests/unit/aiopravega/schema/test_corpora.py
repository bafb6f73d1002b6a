"""The checks of `make corpora` on the small set of schemas in the repository."""

import shutil

from tests.corpora.__main__ import SMALL
from tests.corpora.check import EXAMPLES, check_folder


def test_the_small_set_has_no_fault_and_its_broken_schema_is_named():
    counts = check_folder(SMALL)

    assert counts.faults == []
    assert (counts.schemas, counts.pairs, counts.examples) == (7, 4, 4)
    [(file, reason)] = counts.refused.items()
    assert file.endswith("broken.json")
    assert "5 is not of type 'object'" in reason


def test_examples_that_were_never_valid_say_nothing(tmp_path):
    shutil.copytree(SMALL / "orders", tmp_path / "orders")
    (tmp_path / "orders" / f"order-1.json{EXAMPLES}").write_text('[{"to": {}}, 5]')

    assert check_folder(tmp_path).examples == 2  # those of order-2, by order-2 and by order-1
