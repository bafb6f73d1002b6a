import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[3] / "tools"


class Checkout:
    """A small git repository with the checks in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(TOOLS, folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["git", "init", "--quiet", folder], check=True, timeout=60)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def check(self, name: str, *arguments: str) -> tuple[bool, str]:
        """True if a check passes, and its output."""
        command: list[str | Path] = [sys.executable, self.folder / "tools" / f"check_{name}.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert not done.stderr
        return done.returncode == 0, done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder = tmp_path / "around" / "checkout"
    folder.mkdir(parents=True)
    return Checkout(folder)


@pytest.mark.parametrize("name", ["module_size", "circles", "reasons", "addresses", "words"])
def test_the_checks_pass_on_themselves(checkout: Checkout, name: str) -> None:
    passed, said = checkout.check(name)
    assert passed, said


def test_a_module_may_have_300_lines(checkout: Checkout) -> None:
    checkout.write("even.py", "x = 1\n" * 300)
    assert checkout.check("module_size")[0]


def test_a_longer_module_is_named_with_its_length(checkout: Checkout) -> None:
    checkout.write("endless.py", "x = 1\n" * 301)
    passed, said = checkout.check("module_size")
    assert not passed
    assert "endless.py: 301 lines" in said


def test_a_longer_module_passes_with_a_reason_in_its_first_lines(checkout: Checkout) -> None:
    checkout.write("table.py", "# long because: one line per command of the protocol\n" + "x = 1\n" * 301)
    assert checkout.check("module_size")[0]


def test_an_empty_reason_is_not_accepted(checkout: Checkout) -> None:
    checkout.write("table.py", "# long because: \n" + "x = 1\n" * 301)
    assert not checkout.check("module_size")[0]


def test_generated_stubs_may_be_long(checkout: Checkout) -> None:
    checkout.write("controller_pb2.py", "x = 1\n" * 301)
    assert checkout.check("module_size")[0]


@pytest.mark.parametrize("comment", ["noqa", "noqa: B023", "type: ignore", "type: ignore[call-arg]"])
def test_a_silenced_line_needs_a_reason(checkout: Checkout, comment: str) -> None:
    checkout.write("silent.py", f"x = 1  # {comment}\n")
    passed, said = checkout.check("reasons")
    assert not passed
    assert "silent.py:1" in said


@pytest.mark.parametrize("comment", ["noqa: B023 - called at once", "type: ignore[call-arg]  # a default is read"])
def test_a_silenced_line_passes_with_its_reason(checkout: Checkout, comment: str) -> None:
    checkout.write("silent.py", f"x = 1  # {comment}\n")
    assert checkout.check("reasons")[0]


@pytest.mark.parametrize("host", ["pypi.org/simple", "repo1.maven.example/maven2", "files.pythonhosted.org"])
def test_no_file_names_a_registry(checkout: Checkout, host: str) -> None:
    checkout.write("settings.toml", "index = 'https:" + f"//{host}'\n")
    passed, said = checkout.check("addresses")
    assert not passed
    assert "settings.toml:1" in said


def test_no_file_names_a_folder_of_this_machine(checkout: Checkout) -> None:
    for folder in (checkout.folder / "tests", checkout.folder.parent / "notes.md", Path.home() / "x"):
        checkout.write("notes.md", f"as written in {folder}\n")
        passed, said = checkout.check("addresses")
        assert not passed, folder
        assert "notes.md:1" in said


def test_other_addresses_are_fine(checkout: Checkout) -> None:
    checkout.write("notes.md", "See https://cncf.pravega.io, tcp://localhost:9090 and /tmp/events.\n")
    assert checkout.check("addresses")[0]


def test_a_phrase_of_the_list_is_named_with_its_line_and_what_to_write(checkout: Checkout) -> None:
    checkout.write("page.md", "Cuts are exact.\nA key is drawn By Chance.\n")
    passed, said = checkout.check("words")
    assert not passed
    assert said == "page.md:2: 'by chance': write 'random'\n"


def test_a_phrase_is_found_over_the_end_of_a_line(checkout: Checkout) -> None:
    checkout.write("module.py", "# A key is drawn by\n# chance.\n")
    passed, said = checkout.check("words")
    assert not passed
    assert said == "module.py:1: 'by chance': write 'random'\n"


def limit(checkout: Checkout, number: int, pattern: str, only: str = "all") -> None:
    """Allow one pattern so many times, and no other ones at all."""
    checkout.write("tools/patterns.txt", f"# limits\n{number}\t{only}\t{pattern}\tname the thing\n")


def limit_of(checkout: Checkout) -> int:
    return int((checkout.folder / "tools" / "patterns.txt").read_text().splitlines()[1].split("\t")[0])


PRODUCT = "client/src/client/module.py"


def test_one_more_than_a_pattern_allows_fails_and_is_named(checkout: Checkout) -> None:
    checkout.write(PRODUCT, '"""The names, those of\nstreams."""\n\n# Cuts, and those of it.\n')

    limit(checkout, 2, r"\bthose of\b")
    assert checkout.check("words")[0]
    limit(checkout, 1, r"\bthose of\b")
    passed, said = checkout.check("words")

    assert not passed
    assert r"\bthose of\b: 2 times, at most 1 are allowed: name the thing" in said
    assert f"{PRODUCT}:1: …The names, those of streams.…" in said
    assert f"{PRODUCT}:4: …Cuts, and those of it.…" in said


def test_a_pattern_of_docstrings_passes_comments(checkout: Checkout) -> None:
    checkout.write(PRODUCT, '"""Names."""\n\n# What it is.\n\n\ndef of():\n    """Where it is: what it has."""\n')
    limit(checkout, 0, "^(?:What|Where)\\b", "docstrings")

    passed, said = checkout.check("words")

    assert not passed
    assert "1 times" in said


def test_patterns_are_for_docstrings_and_comments_of_product_code_only(checkout: Checkout) -> None:
    limit(checkout, 0, r"\bthose of\b")
    checkout.write("page.md", "The names, those of streams.\n")
    checkout.write("tests/test_names.py", '"""The names, those of streams."""\n')
    checkout.write(PRODUCT, 'NAME = "those of"\n')

    assert checkout.check("words")[0]


def test_mending_lowers_a_limit_to_what_there_is(checkout: Checkout) -> None:
    checkout.write(PRODUCT, '"""Names, those of streams."""\n')
    limit(checkout, 3, r"\bthose of\b")

    assert "1 \\bthose of\\b (allowed are 3: make fix)" in checkout.check("words")[1]
    assert checkout.check("words", "--fix")[0]
    assert limit_of(checkout) == 1


def test_mending_raises_no_limit(checkout: Checkout) -> None:
    checkout.write(PRODUCT, '"""Names, those of streams."""\n')
    limit(checkout, 0, r"\bthose of\b")

    assert not checkout.check("words", "--fix")[0]
    assert limit_of(checkout) == 0


@pytest.mark.parametrize(
    ("text", "finds"),
    [
        ("Which stream it is.", "^(?:What|"),
        ("A text that is no cut.", "is no"),
        ("The cuts of which one is new.", "of which"),
        ("The end of that.", "of that"),
        ("It waits for it.", "for it"),
        ("Others wait, too.", "too"),
        ("A cut, else a name.", "else"),
    ],
)
def test_the_patterns_of_the_house_find(checkout: Checkout, text: str, finds: str) -> None:
    checkout.write(PRODUCT, f'"""{text}"""\n')

    assert checkout.check("words", "--list", finds)[1].startswith(f"{PRODUCT}:1")


@pytest.mark.parametrize("text", ["There is no cut.", "It is no longer open.", "Too many wait; nobody else."])
def test_the_patterns_of_the_house_pass_plain_words(checkout: Checkout, text: str) -> None:
    checkout.write(PRODUCT, f'"""{text}"""\n')

    assert not checkout.check("words", "--list", "")[1].strip()


def test_docstrings_comments_imports_and_blank_lines_are_not_lines_of_code(checkout: Checkout) -> None:
    documented = '"""A module.\n\nIt does.\n"""\n\nfrom os import (\n    path,\n)\n\n# Why.\nX = """a\nb"""\n'
    function = '\n\ndef f():\n    """Does."""\n    return 1\n'
    checkout.write(PRODUCT, documented + function)

    assert f"{PRODUCT}: 4 lines of code" in checkout.check("module_size", "--small")[1]


def test_more_small_modules_than_the_limit_fail_and_are_named(checkout: Checkout) -> None:
    tool = checkout.folder / "tools" / "check_module_size.py"
    tool.write_text(re.sub(r"^SMALL_LIMIT = \d+$", "SMALL_LIMIT = 1", tool.read_text(), flags=re.MULTILINE))
    checkout.write("client/src/client/large.py", "x = 1\n" * 16)
    checkout.write("client/src/client/small.py", "x = 1\n" * 15)
    assert checkout.check("module_size")[0]
    checkout.write("client/src/client/__init__.py", "")

    passed, said = checkout.check("module_size")

    assert not passed
    assert "small.py: 15 lines of code" in said
    assert "2 modules have 15 lines of code or fewer, at most 1 may" in said
    assert "large.py" not in said


def test_a_part_of_a_word_is_no_phrase(checkout: Checkout) -> None:
    checkout.write("page.md", "He reminds us.\n")
    assert checkout.check("words")[0]


@pytest.mark.parametrize(
    "back",
    [
        "from shop.orders import Order",
        "import shop.orders",
        "from . import orders",
        "from .orders import Order",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shop.orders import Order",
        "def f():\n    from shop.orders import Order",
        "from importlib import import_module\nimport_module('shop.orders')",
    ],
    ids=["name", "module", "relative module", "relative name", "for types", "in a function", "by its name"],
)
def test_modules_that_import_each_other_are_named(checkout: Checkout, back: str) -> None:
    checkout.write("shop/src/shop/__init__.py", "")
    checkout.write("shop/src/shop/orders.py", "from shop.prices import price\n")
    checkout.write("shop/src/shop/prices.py", back + "\n")
    passed, said = checkout.check("circles")
    assert not passed
    assert "shop/src/shop/orders.py imports price from shop/src/shop/prices.py" in said
    assert "from shop/src/shop/orders.py" in said
    assert "1 circle among 3 modules" in said


def test_a_circle_may_go_through_a_package_and_a_third_module(checkout: Checkout) -> None:
    checkout.write("shop/src/shop/__init__.py", "from shop.orders import Order\n")
    checkout.write("shop/src/shop/orders.py", "from shop.prices import price\n")
    checkout.write("shop/src/shop/prices.py", "from shop import Order\n")
    passed, said = checkout.check("circles")
    assert not passed
    assert "circle 1: 3 modules" in said
    assert "shop/src/shop/prices.py imports Order from shop/src/shop/__init__.py" in said


def test_the_package_of_an_imported_module_is_not_in_a_circle(checkout: Checkout) -> None:
    checkout.write("shop/src/shop/__init__.py", "from shop.orders import Order\n")
    checkout.write(
        "shop/src/shop/orders.py", "import shop.prices\nfrom shop import prices\nfrom shop.prices import price\n"
    )
    checkout.write("shop/src/shop/prices.py", "")
    passed, said = checkout.check("circles")
    assert passed, said
    assert said == "no circles among 3 modules\n"


def test_modules_that_are_not_of_the_product_may_be_in_a_circle(checkout: Checkout) -> None:
    checkout.write("tests/one.py", "import tests.two\n")
    checkout.write("tests/two.py", "import tests.one\n")
    assert checkout.check("circles")[0]
