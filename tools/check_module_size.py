"""Fail when a module is long without a reason, or when there are too many small ones.

A module is one idea; past 300 lines it is usually two. One that must be longer says why in its first lines:
`# long because: …`. An idea that is split over too many files is hard to read as well: of the modules of product code
(src), only some may have 15 lines of code or fewer, beside the `__init__.py` that make folders packages. Docstrings,
comments, blank lines and imports are not lines of code. Generated stubs are not counted. `--small` lists the modules.
"""

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 300  # lines
SMALL = 15  # lines of code
SMALL_LIMIT = 20  # modules that may be small; it only sinks
FIRST_LINES = 10  # where the reason must stand
REASON = "# long because: "
GENERATED = ("_pb2.py", "_pb2_grpc.py")


def is_fine(lines: list[str]) -> bool:
    """True if a module is short enough, or states the reason why it is not."""
    return len(lines) <= LONGEST or any(line.partition(REASON)[2].strip() for line in lines[:FIRST_LINES])


def lines_of_code(text: str) -> int:
    """The lines of a module that are neither docstrings, comments or imports, nor blank."""
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in layout:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
                lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def main() -> int:
    """Check every module that git knows or would add."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    names = subprocess.run(listing, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    paths = [ROOT / name for name in names if not name.endswith(GENERATED) and (ROOT / name).exists()]
    modules = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}
    long = {path: text.count("\n") for path, text in modules.items() if not is_fine(text.splitlines())}
    for path, length in long.items():
        print(f"{path}: {length} lines; split it, or say why in its first lines: {REASON}…")
    product = {path: lines_of_code(text) for path, text in modules.items() if "src" in path.parts}
    small = sorted((length, path) for path, length in product.items() if length <= SMALL)
    counted = [(length, path) for length, path in small if path.name != "__init__.py"]
    too_many = len(counted) > SMALL_LIMIT
    if too_many or "--small" in sys.argv[1:]:
        for length, path in counted:
            print(f"{path}: {length} lines of code")
    if too_many:
        print(f"{len(counted)} modules have {SMALL} lines of code or fewer, at most {SMALL_LIMIT} may: merge some")
    print(f"{len(modules)} modules, {len(long)} too long without a reason")
    packages = len(small) - len(counted)
    sinks = ": lower SMALL_LIMIT of this tool" if len(counted) < SMALL_LIMIT else ""
    print(f"{len(product)} modules of product code, beside {packages} small `__init__.py` {len(counted)} small{sinks}")
    return 1 if long or too_many else 0


if __name__ == "__main__":
    sys.exit(main())
