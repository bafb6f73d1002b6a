"""Files of settings in the form that `java.util.Properties` reads: `application.properties`."""

import re
from typing import Final

from aiopravega.errors import ConfigurationError

# Java's blanks, and its line ends: Python has more of both.
_BLANKS: Final = " \t\f"
_LINE_ENDS: Final = re.compile(r"\r\n|\r|\n")
_LINE: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)([ \t\f]*[=:]?[ \t\f]*)(.*)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(text: str) -> dict[str, str]:
    r"""The settings in a file `application.properties`: names and values, comments and blank lines left out.

    A backslash escapes: `\\` is one, `\u00e9` a letter, and at the end of a line it joins the next one. `=`, `:` or a
    blank ends the name.

    Raises:
        ConfigurationError: a line has a name only, or `\u` without four digits.
    """
    settings = {}
    for line in _whole_lines(text):
        parts = _LINE.fullmatch(line)
        if parts is None or not parts[2]:
            # The rest of the line may be a password.
            raise ConfigurationError(f"the line that begins with {line.split()[0]!r} is not a setting: name=value")
        settings[_plain(parts[1])] = _plain(parts[3])
    return settings


def _whole_lines(text: str) -> list[str]:
    """The lines without blanks before them, continued ones joined, comments and blank ones left out."""
    lines, begun = [], ""
    for line in _LINE_ENDS.split(text):
        stripped = line.lstrip(_BLANKS)
        if not begun and (not stripped or stripped[0] in "#!"):
            continue
        slashes = len(stripped) - len(stripped.rstrip("\\"))
        if slashes % 2:
            begun += stripped[:-1]
            continue
        lines.append(begun + stripped)
        begun = ""
    return [*lines, begun] if begun else lines


def _plain(text: str) -> str:
    return _ESCAPED.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    if code == "u":
        raise ConfigurationError("a setting has \\u without four hexadecimal digits: write \\\\u for the text itself")
    return _CONTROLS.get(code, code)
