import re
import subprocess
from pathlib import Path

import pytest
from tests.pages.blocks import PAGES as READ_PAGES
from tests.pages.blocks import blocks_of, typed_on

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.splitlines()
)


def links(page: Path) -> list[Path]:
    """The files that a page points to."""
    targets = re.findall(r"\]\((?!https?://)([^)#]+)[^)]*\)", page.read_text())
    return [(page.parent / target).resolve() for target in targets]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert [target for target in links(page) if not target.exists()] == []


def test_the_index_or_the_page_above_names_every_page() -> None:
    """Pages in a folder `airflow` are named by the page `airflow.md` beside it."""
    index = ROOT / "docs" / "index.md"
    indexed = {*links(index)} & {*PAGES}
    parts = {page for above in indexed for page in links(above) if page.is_relative_to(above.with_suffix(""))}
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - {index} == indexed | parts


def test_no_example_uses_what_a_run_without_a_logical_date_does_not_have() -> None:
    """Runs by command line, by the API and by assets have no `ts` and no `ds`."""
    examples = [*PAGES, *(ROOT / "example_dags").rglob("*.py"), *(ROOT / "providers").rglob("*.py")]
    undefined = re.compile(r"\{\{\s*(ts|ds|ts_nodash|ds_nodash|logical_date)\b")
    assert [str(path) for path in examples if undefined.search(path.read_text())] == []


WIDEST = 100  # what the site shows without a scroll bar
# A command that a page lets its readers type; its further lines follow a backslash.
TYPED = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?pravega(?:-emulator)? (?:.*\\\n)*.*", re.MULTILINE)


@pytest.mark.parametrize("page", READ_PAGES)
def test_code_of_a_page_is_not_wider_than_a_screen(page: str) -> None:
    typed = [command for text in typed_on(page) for command in TYPED.findall(text)]
    code = [*(block.code for block in blocks_of(page)), *typed]
    assert [line for text in code for line in text.splitlines() if len(line) > WIDEST] == []


TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


def functions_of(file: Path) -> set[str]:
    """The names of the tests in a file."""
    return set(re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", ["reference/java.md", "evidence/exactly-once.md", "explanation/kafka-provider.md"])
def test_the_tests_that_a_page_names_exist(page: str) -> None:
    named = set(re.findall(r"\btest_\w+", (ROOT / "docs" / page).read_text()))
    known = {file.stem for file in TESTS}.union(*map(functions_of, TESTS))
    assert named - known == set()
    assert len(named) > 15


def test_every_promise_about_writes_names_the_tests_that_prove_it() -> None:
    page = (ROOT / "docs" / "evidence" / "exactly-once.md").read_text()
    promises = page.partition("## The tests of each promise")[2].partition("\n## ")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ") and not line.endswith("| tests |")]
    assert len(rows) > 10
    for row in rows:
        proofs = row.rstrip("| ").rpartition(" | ")[2]
        for proof in proofs.split("; "):
            file, *tests = re.findall(r"`([^`]+)`", proof)
            path = ROOT / "tests" / "integration" / f"{file}.py"
            assert path.exists(), row
            assert tests, row
            assert set(tests) <= functions_of(path), row


GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
TERMS = (
    *("stream", "scope", "segment", "cut", "range", "event", "consumer", "interval", "claim", "ledger", "write id"),
    *("generation", "attempt", "holding", "watermark", "open", "done", "failed"),
)


@pytest.mark.parametrize("term", TERMS)
def test_the_glossary_explains(term: str) -> None:
    # In a row of a table, in a list, or under a heading.
    assert re.search(rf"^(?:\| |- |#+ )[*`]*{term}[*`]*(?: \||:|$)", GLOSSARY.read_text(), re.MULTILINE | re.IGNORECASE)


def test_the_recipes_name_files_that_exist() -> None:
    recipes = (ROOT / "CONTRIBUTING.md").read_text().partition("# Recipes")[2]
    named = set(re.findall(r"`((?:\w+/)+[\w.-]*)`", recipes)) | set(re.findall(r"tests/[\w/.]+", recipes))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
