"""Messages of the controller, generated from `controller.proto` by `aiopravega/tools/generate_stubs.py`."""
