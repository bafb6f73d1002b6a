"""Check schemas of others: `make corpora ARGS='folder-of-schemas other-folder'`, by default a small set of our own.

For each schema: it is compatible with itself, and each field is a column or has a reason. For each pair of JSON Schemas
in one folder: what is called compatible refuses no example that was valid. Its status is 1 if one of these is not so;
a schema that is refused by name is listed, and is no fault.
"""

import argparse
import sys
from pathlib import Path

from tests.corpora.check import check_folder

SMALL = Path(__file__).parent / "small"


def main() -> int:
    """Check the folders, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[SMALL])
    faults = 0
    for folder in parser.parse_args().folders:
        counts = check_folder(folder)
        for file, reason in counts.refused.items():
            print(f"refused: {file}: {reason}")
        for fault in counts.faults:
            print(f"FAULT: {fault}")
        print(
            f"{folder}: {counts.schemas} schemas, {len(counts.refused)} refused, {counts.pairs} pairs, "
            f"{counts.examples} examples, {len(counts.faults)} faults"
        )
        faults += len(counts.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
