"""How Sphinx makes the site: `make site`. The pages are the Markdown files beside this one, as they are."""

import re
from importlib.metadata import version as version_of
from typing import Any, Final

_OUTSIDE: Final = re.compile(r"\]\(((?:\.\./){2,}[^)#]+\.md)\)")
_SECTION: Final = re.compile(r"^\*\*(.+?)\*\*")
_ENTRY: Final = re.compile(r"^- \[.+?\]\((.+?)\.md\)")
_DRAWING: Final = re.compile(r"^!\[[^\]]*\]\((\w+\.svg)\)$", re.MULTILINE)

project = "Pravega for Airflow, Dagster and PySpark"
author = "the project's contributors"
release = version = version_of("aiopravega")
extensions = ["myst_parser"]
myst_heading_anchors = 4
# Blocks without a language are output, and commands.
highlight_language = "none"
html_theme = "furo"
html_title = f"{project} {release}"
html_show_copyright = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}
nitpicky = True


def add_trees(_: Any, page: str, text: list[str]) -> None:
    """Give the first page the tree of all pages, and other pages that of their parts, from their own lists.

    The parts of `reference/airflow` are the pages in the folder of that name. A page that no list names is an error.
    """
    folder = "" if page == "index" else f"{page.rpartition('/')[2]}/"
    trees: list[str] = []
    for line in text[0].splitlines():
        section, entry = _SECTION.match(line), _ENTRY.match(line)
        if section and page == "index":
            trees += ["", "```{toctree}", ":hidden:", f":caption: {section[1]}", "", "```"]
        elif entry and entry[1].startswith(folder):
            trees = trees or ["", "```{toctree}", ":hidden:", "", "```"]
            trees.insert(-1, entry[1])
    text[0] += "\n".join(["", *trees, ""])


def draw(_: Any, __: str, text: list[str]) -> None:
    """Put drawings into the page itself, so that they have the colours of the theme."""
    text[0] = _DRAWING.sub(r"```{raw} html\n:file: \1\n```", text[0])


def take_files(_: Any, __: str, text: list[str]) -> None:
    """Have files outside of this folder, such as tables of benchmarks, downloaded: they are not pages."""
    text[0] = _OUTSIDE.sub(r"](path:\1)", text[0])


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx what this configuration does."""
    app.connect("source-read", add_trees)
    app.connect("source-read", take_files)
    app.connect("source-read", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
