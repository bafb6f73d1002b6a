"""Count the imports of the client: between modules, between rooms, and rooms that import each other in a circle.

A room is a package below `aiopravega` or below `aiopravega.schema`, and each module beside them.
With a path, it counts another checkout: `python tools/structure.py ../before/aiopravega/src`.
"""

import subprocess
import sys
from itertools import permutations
from pathlib import Path

PACKAGE = "aiopravega"
DEEPER = ("schema", "ledger")
ROOT = Path(__file__).resolve().parents[1]


def room(module: str) -> str:
    """The room of a module."""
    _, *names = module.split(".")
    return ".".join(names[: 2 if names[:1] and names[0] in DEEPER else 1]) or PACKAGE


def count() -> None:
    """Print the counts of the package that this Python finds."""
    import grimp

    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    arrows = {
        (importer, imported)
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
    }
    between = {(room(one), room(other)) for one, other in arrows if room(one) != room(other)}
    rooms = {room(module) for module in graph.modules}
    circles = sorted({tuple(sorted(pair)) for pair in permutations(rooms, 2) if {pair, pair[::-1]} <= between})
    print(f"{len(graph.modules)} modules in {len(rooms)} rooms")
    print(f"{len(arrows)} imports between modules, {len(between)} between rooms")
    print("rooms that import each other:", ", ".join(" and ".join(pair) for pair in circles) or "none")


def main() -> None:
    """Count this checkout, or the one whose `src` folder is named."""
    source = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / PACKAGE / "src"
    code = f"import sys; sys.path[:0] = [{str(source)!r}, {str(ROOT)!r}]; from tools.structure import count; count()"
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
