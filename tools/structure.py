"""Count and draw the imports of the client: between modules, between rooms, and rooms that import each other.

A room is a package below `aiopravega`, `aiopravega.schema` or `aiopravega.ledger`, and each module beside them.

    python tools/structure.py                                       counts this checkout
    python tools/structure.py ../before/aiopravega/src              counts another one
    python tools/structure.py ../before/aiopravega/src --draw a.png draws the other one and this one, side by side
"""

import argparse
import json
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

PACKAGE = "aiopravega"
DEEPER = ("schema", "ledger")
ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / PACKAGE / "src"


class Structure(NamedTuple):
    """Modules, imports between them, the rooms, and the pairs of rooms of which the first imports the second."""

    modules: int
    imports: int
    rooms: list[str]
    between: list[tuple[str, str]]

    @property
    def circles(self) -> list[tuple[str, ...]]:
        """Pairs of rooms that import each other."""
        both = set(self.between)
        return sorted({tuple(sorted(pair)) for pair in permutations(self.rooms, 2) if {pair, pair[::-1]} <= both})

    def ordered(self) -> list[str]:
        """The rooms, those first that need the fewest others: so a room comes after all that it imports.

        Rooms that import each other, directly or through others, need equally many, and follow each other.
        """
        imported: dict[str, set[str]] = {each: set() for each in self.rooms}
        for one, other in self.between:
            imported[one].add(other)

        def needed(room: str) -> int:
            seen, open_ones = {room}, [room]
            while open_ones:
                new = imported[open_ones.pop()] - seen
                seen |= new
                open_ones += new
            return len(seen)

        return sorted(self.rooms, key=lambda each: (needed(each), each))


def room(module: str) -> str:
    """The room of a module."""
    _, *names = module.split(".")
    return ".".join(names[: 2 if names[:1] and names[0] in DEEPER else 1]) or PACKAGE


def measure() -> None:
    """Print the structure of the package that this Python finds, as JSON."""
    import grimp

    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    arrows = {
        (importer, imported)
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
    }
    between = {(room(one), room(other)) for one, other in arrows if room(one) != room(other)}
    rooms = {room(module) for module in graph.modules}
    print(json.dumps(Structure(len(graph.modules), len(arrows), sorted(rooms), sorted(between))))


def structure_of(source: Path) -> Structure:
    """The structure of the package below a folder, by a Python that finds no other one."""
    paths = [str(source.resolve()), str(ROOT)]
    code = f"import sys; sys.path[:0] = {paths!r}; from tools.structure import measure; measure()"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    modules, imports, rooms, between = json.loads(said)
    return Structure(modules, imports, rooms, [(one, other) for one, other in between])


def draw(structures: list[Structure], titles: list[str], file: Path) -> None:
    """Draw a table of rooms for each structure: a point where the room of the line imports that of the column."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, tables = plt.subplots(1, len(structures), figsize=(11 * len(structures), 11), squeeze=False)
    for axes, structure, title in zip(tables[0], structures, titles, strict=True):
        rooms = structure.ordered()
        index = {each: number for number, each in enumerate(rooms)}
        points = [(index[other], index[one]) for one, other in structure.between]
        up = [(x, y) for x, y in points if x > y]
        axes.plot([-0.5, len(rooms) - 0.5], [-0.5, len(rooms) - 0.5], color="lightgrey", zorder=0)
        for found, color in ((points, "tab:blue"), (up, "tab:red")):
            axes.scatter([x for x, _ in found], [y for _, y in found], color=color, s=22)
        axes.set_xticks(range(len(rooms)), rooms, rotation=90, fontsize=8)
        axes.set_yticks(range(len(rooms)), rooms, fontsize=8)
        axes.invert_yaxis()
        axes.set_aspect("equal")
        axes.set_title(f"{title}: {len(rooms)} rooms, {len(points)} imports, {len(up)} of them against the order (red)")
        axes.set_xlabel("is imported")
        axes.set_ylabel("imports")
    figure.tight_layout()
    figure.savefig(file, dpi=70)


def main() -> None:
    """Count this checkout or another one, or draw both."""
    parser = argparse.ArgumentParser(description="Count and draw the imports of the client.")
    parser.add_argument("source", nargs="?", type=Path, default=HERE, help="the `src` folder of a checkout")
    parser.add_argument("--draw", type=Path, metavar="PNG", help="draw that one and this one")
    options = parser.parse_args()
    found = structure_of(options.source)
    print(f"{found.modules} modules in {len(found.rooms)} rooms")
    print(f"{found.imports} imports between modules, {len(found.between)} between rooms")
    print("rooms that import each other:", ", ".join(" and ".join(pair) for pair in found.circles) or "none")
    if options.draw:
        draw([found, structure_of(HERE)], ["Before", "Now"], options.draw)


if __name__ == "__main__":
    main()
