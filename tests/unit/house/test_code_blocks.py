"""The code on pages for users is code: each block runs in a test, or a list says why it cannot.

Here each block compiles or parses as what it says it is, and each command has arguments that its program knows.
"""

import ast
import re
import shlex
import subprocess
import tomllib
from importlib import import_module
from typing import Any

import dagster as dg
import pytest
from tests.pages.blocks import PAGES, ROOT, Block, blocks_of, typed_on
from tests.pages.elsewhere import BLOCKS_ELSEWHERE, NOT_RUN, PAGES_ELSEWHERE
from tools.command_reference import check_words, parser_of

from pravega_emulator import cli as emulator

BLOCKS = {block.name: block for page in PAGES for block in blocks_of(page)}
# How a page leaves something out.
ELLIPSIS = "…"
RUNNERS = {path: path.read_text() for path in (ROOT / "tests" / "integration" / "pages").glob("test_*.py")}
# What a reader types begins so; a page may leave words out, by an ellipsis, a word in capitals or brackets.
TYPED = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?(pravega(?:-emulator)?) (.+)$", re.MULTILINE)


def of(*languages: str) -> list[Any]:
    """All blocks in some languages, as cases of a test."""
    found = [pytest.param(block.code, id=name) for name, block in BLOCKS.items() if block.language in languages]
    assert found
    return found


def commands() -> list[Any]:
    """All commands of ours in blocks of pages, as cases of a test."""
    shells = [block for block in BLOCKS.values() if block.language in ("bash", "sh")]
    texts = [(block.page, block.code) for block in shells]
    texts += [(page, code) for page in PAGES for code in typed_on(page)]
    found = [
        pytest.param(program, words, id=f"{page}: {program} {words}")
        for page, text in texts
        for program, words in TYPED.findall(text.replace("\\\n", " "))
        if ELLIPSIS not in words
    ]
    assert len(found) > 40
    return found


@pytest.mark.parametrize("code", of("python"))
def test_python_compiles(code: str) -> None:
    # `await` stands alone where the client is asyncio's.
    compile(code.replace(ELLIPSIS, "..."), "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)


@pytest.mark.parametrize("code", of("bash", "sh"))
def test_shell_parses(code: str) -> None:
    done = subprocess.run(["bash", "-n"], input=code, text=True, capture_output=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("code", of("yaml", "yml"))
def test_yaml_parses(code: str) -> None:
    yaml: Any = import_module("yaml")  # it brings no types

    assert yaml.safe_load(code)


@pytest.mark.parametrize("code", of("toml"))
def test_toml_parses(code: str) -> None:
    assert tomllib.loads(code)


@pytest.mark.parametrize("code", of("properties"))
def test_properties_are_names_and_values(code: str) -> None:
    assert all(re.fullmatch(r"[\w.-]+=\S.*", line) for line in code.splitlines())


@pytest.mark.parametrize(("program", "words"), commands())
def test_a_command_has_arguments_that_its_program_knows(program: str, words: str) -> None:
    arguments = shlex.split(words.partition(" < ")[0], comments=True)
    if program == "pravega":
        check_words(arguments)
        return
    try:
        parser_of(emulator.main).parse_args(arguments)
    except SystemExit as end:
        assert end.code == 0, f"{program} {words}"


def test_every_language_of_a_block_is_checked() -> None:
    """Text is a drawing."""
    languages = {block.language for block in BLOCKS.values()}

    assert languages <= {"python", "bash", "sh", "yaml", "yml", "toml", "properties", "sql", "text"}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)])
def test_a_page_with_code_is_run_by_a_test(page: str) -> None:
    if page in PAGES_ELSEWHERE:
        assert (
            PAGES[page].stem in (ROOT / PAGES_ELSEWHERE[page]).read_text() or "test_tutorials" in PAGES_ELSEWHERE[page]
        )
        # Their tests run all blocks of Python that are not indented, and no others.
        assert [name for name in names_of(page) if not is_run_by_a_test_of_its_page(BLOCKS[name])] == []
    elif names_of(page) - NOT_RUN.keys() - BLOCKS_ELSEWHERE.keys():
        assert [path for path, text in RUNNERS.items() if f'"{page}"' in text]


def names_of(page: str) -> set[str]:
    return {block.name for block in blocks_of(page)}


def is_run_by_a_test_of_its_page(block: Block) -> bool:
    if block.name in NOT_RUN or block.name in BLOCKS_ELSEWHERE or block.page == "first-table":
        return True
    return block.language == "python" and f"\n```python\n{block.code}```" in PAGES[block.page].read_text()


def test_the_lists_name_blocks_that_there_are_and_tests_that_know_them() -> None:
    assert NOT_RUN.keys() | BLOCKS_ELSEWHERE.keys() <= BLOCKS.keys()
    assert not NOT_RUN.keys() & BLOCKS_ELSEWHERE.keys()
    for name, file in BLOCKS_ELSEWHERE.items():
        assert BLOCKS[name].page in (ROOT / file).read_text(), name


def test_the_launchpad_takes_what_the_first_asset_gives_it() -> None:
    yaml: Any = import_module("yaml")
    file, *others = blocks_of("first-asset")
    [config] = [block for block in others if block.language == "yaml"]
    names: dict[str, Any] = {}
    exec(file.code, names)

    job = names["defs"].resolve_implicit_global_asset_job_def()

    assert dg.validate_run_config(job, yaml.safe_load(config.code))
