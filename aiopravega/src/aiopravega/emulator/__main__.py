"""`python -m aiopravega.emulator` is the command `pravega-emulator`."""

import sys

from aiopravega.emulator.cli import main

if __name__ == "__main__":
    sys.exit(main())
