"""Fail when modules import each other in a circle.

Each import of the product's code counts: at the top, inside a function, for types only, and by `import_module` with
the name of a module. A name that comes from a package's `__init__` is an import of that `__init__`; a module inside a
package is an import of its own file only.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = "src"  # the folder of each distribution's packages


def modules() -> dict[str, Path]:
    """The product's modules that git knows or would add, by their names; a package stands for its `__init__`."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", f"*{SOURCES}/*.py"]
    names = subprocess.run(listing, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()
    found: dict[str, Path] = {}
    for path in (ROOT / name for name in names):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if SOURCES in parts and path.exists():
            module = parts[parts.index(SOURCES) + 1 :]
            found[".".join(module[:-1] if module[-1] == "__init__" else module)] = path
    return found


def imports(name: str, tree: ast.AST, known: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """The modules that a module imports, each with the name that it takes from there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, alias.name) for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            source = _source(name, node, is_package=known[name].name == "__init__.py")
            for alias in node.names:
                module = f"{source}.{alias.name}"
                if module in known:
                    yield module, alias.name
                elif source in known:
                    yield source, alias.name
        elif isinstance(node, ast.Call) and (module := _loaded(node)) in known:
            yield module, module


def _loaded(call: ast.Call) -> str:
    """The module that a call of `import_module` names; empty: it is another call, or its module is not a literal."""
    function = call.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    first = call.args[0] if called == "import_module" and call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _source(name: str, node: ast.ImportFrom, *, is_package: bool) -> str:
    """The module that a `from … import` names, whether it names it in full or relative to its own module."""
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    above = parts[: len(parts) - node.level + is_package]
    return ".".join([*above, *([node.module] if node.module else [])])


def circles(arrows: Mapping[str, Mapping[str, set[str]]]) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others; each is sorted, and so are all."""
    reached = {name: _reached(name, arrows) for name in arrows}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in arrows}
    return sorted(sorted(group) for group in groups if group)


def _reached(name: str, arrows: Mapping[str, Mapping[str, set[str]]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(arrows[name])
    while waiting:
        other = waiting.pop()
        if other not in seen:
            seen.add(other)
            waiting += arrows[other]
    return seen


def main() -> int:
    """Check the modules of all distributions."""
    known = modules()
    arrows: dict[str, dict[str, set[str]]] = {name: {} for name in known}
    for name, path in known.items():
        for module, taken in imports(name, ast.parse(path.read_text(encoding="utf-8")), known):
            if module != name:
                arrows[name].setdefault(module, set()).add(taken)
    found = circles(arrows)
    for number, circle in enumerate(found, start=1):
        print(f"circle {number}: {len(circle)} modules import each other")
        for name in circle:
            for module in sorted(arrows[name].keys() & set(circle)):
                taken = ", ".join(sorted(arrows[name][module]))
                print(f"  {known[name].relative_to(ROOT)} imports {taken} from {known[module].relative_to(ROOT)}")
    print(f"{len(found) or 'no'} circle{'' if len(found) == 1 else 's'} among {len(known)} modules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
