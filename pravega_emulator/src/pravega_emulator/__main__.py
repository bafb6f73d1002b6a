"""`python -m pravega_emulator` is the command `pravega-emulator`."""

import sys

from pravega_emulator.cli import main

if __name__ == "__main__":
    sys.exit(main())
