"""What to say when the extra `emulator` is missing: its packages are imported where they are used."""

INSTALL_HINT = "install the extra: pip install 'aiopravega[emulator]'"
