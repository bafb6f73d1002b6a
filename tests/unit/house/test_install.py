"""What pages say of the way to the packages is true: from a clone, by `make wheels`, while no index has them."""

import re
import tomllib

import pytest
from tests.pages.blocks import PAGES, ROOT, blocks_of
from tests.pages.steps import OWN, steps_of

READMES = sorted(name for name in PAGES if name.startswith("README of "))
TUTORIALS = sorted(page.stem for page in (ROOT / "docs" / "tutorials").glob("*.md"))
# It needs what `make setup` installs.
FROM_WHEELS = sorted(set(TUTORIALS) - {"first-table"})
OWN_CLUSTER = {f"PRAVEGA_{name}" for name in ("CONTROLLER_URI", "CA_FILE", "USERNAME", "PASSWORD")}


@pytest.mark.parametrize("page", READMES)
def test_a_readme_says_how_it_is_installed_and_where_its_docs_are(page: str) -> None:
    text = PAGES[page].read_text()
    project = tomllib.loads(PAGES[page].with_name("pyproject.toml").read_text())["project"]

    assert text.startswith(f"# {project['name']}\n")
    assert f"\npip install --find-links dist {project['name']}\n" in text
    assert "`make wheels`" in text
    documentation = text.partition("## Documentation\n")[2]
    named = re.findall(r"`(docs/\S+)`", documentation)
    assert len(named) > 2
    assert [file for file in named if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("tutorial", FROM_WHEELS)
def test_a_tutorial_installs_what_a_clone_builds(tutorial: str) -> None:
    first, folder, environment, install, *_ = [step.text for step in steps_of(PAGES[tutorial].read_text())]

    assert first == "make wheels"
    assert folder == f"mkdir -p build/{tutorial} && cd build/{tutorial}"
    assert environment == "python3 -m venv .venv"
    assert install.startswith(".venv/bin/pip install --find-links ../../dist ")


@pytest.mark.parametrize("tutorial", TUTORIALS)
def test_a_tutorial_names_a_cluster_of_ones_own_for_every_program(tutorial: str) -> None:
    own = [step.text for step in steps_of(PAGES[tutorial].read_text()) if step.section == OWN]

    assert {name for text in own for name in re.findall(r"^export (PRAVEGA_\w+)=", text)} == OWN_CLUSTER
    assert [text for text in own if "localhost" in text] == []


def test_a_project_of_uv_finds_the_folder_of_wheels() -> None:
    """The target prints the same."""
    [block] = blocks_of("install")
    [folder] = tomllib.loads(block.code)["tool"]["uv"]["find-links"]

    assert folder.endswith("/clone/dist")
    assert "[tool.uv]" in (ROOT / "Makefile").read_text()
