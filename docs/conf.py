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
html_theme_options = {"top_of_page_buttons": []}
nitpicky = True


def add_tree(_: Any, page: str, text: list[str]) -> None:
    """Give the first page the tree of all pages, from its own lists: a page that they do not name is an error."""
    if page != "index":
        return
    trees: list[str] = []
    for line in text[0].splitlines():
        if section := _SECTION.match(line):
            trees += ["```", "", "```{toctree}", ":hidden:", f":caption: {section[1]}", ""]
        elif entry := _ENTRY.match(line):
            trees.append(entry[1])
    text[0] += "\n".join(["", *trees[2:], "```", ""])


def draw(_: Any, __: str, text: list[str]) -> None:
    """Put drawings into the page itself, so that they have the colours of the theme."""
    text[0] = _DRAWING.sub(r"```{raw} html\n:file: \1\n```", text[0])


def take_files(_: Any, __: str, text: list[str]) -> None:
    """Have files outside of this folder, such as tables of benchmarks, downloaded: they are not pages."""
    text[0] = _OUTSIDE.sub(r"](path:\1)", text[0])


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx what this configuration does."""
    app.connect("source-read", add_tree)
    app.connect("source-read", take_files)
    app.connect("source-read", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
