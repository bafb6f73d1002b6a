"""Messages of the controller, generated from `controller.proto` by `tools/generate_stubs.py`."""
