"""What importing the client costs: processes that Spark starts, and `pravega --help`, wait for it."""

import subprocess
import sys

import aiopravega

HEAVY = {"asyncio", "grpc", "google.protobuf", "httpx", "numpy", "pyarrow", "pydantic"}


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh Python has loaded after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_package_alone_loads_nothing_heavy():
    assert not loaded_by("import aiopravega") & HEAVY


def test_cuts_and_errors_need_neither_a_network_nor_arrow():
    assert not loaded_by("from aiopravega import StreamCut, errors") & (HEAVY - {"asyncio"})


def test_help_of_the_command_loads_nothing_heavy():
    helped = "from aiopravega.commands.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\nimport sys"
    code = f"{helped}; print('loaded:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split("loaded:")[1].split()) & HEAVY


def test_every_public_name_is_found_when_it_is_used():
    assert all(getattr(aiopravega, name) is not None for name in aiopravega.__all__)
    assert dir(aiopravega) == sorted(aiopravega.__all__)
