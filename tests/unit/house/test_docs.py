import re
import subprocess
from pathlib import Path

import pytest

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


def test_the_index_names_every_page_of_the_documentation() -> None:
    index = ROOT / "docs" / "index.md"
    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - {index} == set(links(index)) & set(PAGES)


def test_no_example_uses_what_a_run_without_a_logical_date_does_not_have() -> None:
    """Runs by command line, by the API and by assets have no `ts` and no `ds`."""
    examples = [*PAGES, *(ROOT / "example_dags").rglob("*.py"), *(ROOT / "providers").rglob("*.py")]
    undefined = re.compile(r"\{\{\s*(ts|ds|ts_nodash|ds_nodash|logical_date)\b")
    assert [str(path) for path in examples if undefined.search(path.read_text())] == []


def test_the_tests_that_the_page_about_java_names_exist() -> None:
    named = set(re.findall(r"\btest_\w+", (ROOT / "docs" / "reference" / "java.md").read_text()))
    files = list((ROOT / "tests").rglob("test_*.py"))
    known = {file.stem for file in files}
    known |= {
        name for file in files for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert named - known == set()
    assert len(named) > 20
