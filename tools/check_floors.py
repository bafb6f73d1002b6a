"""Hold the table of floors in docs/explanation/architecture.md to the contract "six floors" of pyproject.toml."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
CONTRACT = "six floors"


def of_contract() -> list[set[str]]:
    """The modules of each floor, the highest first, as the contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = next(contract["layers"] for contract in contracts if contract["name"] == CONTRACT)
    return [{name.strip() for name in floor.split(":")} for floor in floors]


def of_page() -> list[set[str]]:
    """The modules of each floor, the highest first, as the page has them."""
    table = PAGE.read_text().split("| floor | modules |", 1)[1].split("\n\n", 1)[0]
    cells = [line.split("|")[2] for line in table.splitlines()[2:]]
    return [{name.strip().strip("`") for name in cell.split(",")} for cell in cells]


def main() -> int:
    """Compare both; a difference is named, and the status is 1."""
    contract, page = of_contract(), of_page()
    if contract == page:
        print(f"{len(page)} floors as in {PAGE.relative_to(ROOT)}")
        return 0
    for number, (here, there) in enumerate(zip(contract, page, strict=False), start=1):
        if here != there:
            print(f"floor {number}: only the contract has {sorted(here - there)}, only the page {sorted(there - here)}")
    print(f"the contract has {len(contract)} floors, {PAGE.relative_to(ROOT)} has {len(page)}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
