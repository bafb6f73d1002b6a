"""The command `pravega-emulator` and the pytest plugin, as their users run them: nothing is left when they end.

Every test starts a server: a played one with `make test`, a real one with `make proofs`.
"""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from aiopravega import PravegaClient, PravegaConfig
from pravega_emulator.named import NamedServer
from pravega_emulator.ports import is_free

COMMAND = [sys.executable, "-m", "pravega_emulator"]
SMALL = ["--cache", "128", "--heap", "512"]
SECONDS = 60

pytestmark = [pytest.mark.timeout(1500), pytest.mark.usefixtures("any_java")]


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def processes_of(folder: Path) -> list[str]:
    """The processes whose command line speaks of this folder."""
    listed = subprocess.run(["ps", "-wweo", "stat=,pid=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(folder) in line and not line.startswith("Z")]


def call(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    answer = subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=170, check=False)
    assert answer.returncode == code, answer.stderr
    return answer


@pytest.fixture
def name():
    named = NamedServer(f"test-{uuid.uuid4().hex}")
    yield named.name
    named.stop()


async def test_a_detached_server_is_up_until_it_is_taken_down(name, tmp_path):
    shown = call("up", "--detach", "--name", name, "--auth", "--data", str(tmp_path), *SMALL).stdout
    assert "accounts         admin, reader" in shown

    assert shown == call("status", "--name", name).stdout
    assert "runs already" in call("up", "--name", name, code=1).stderr

    script = "from aiopravega import PravegaConfig; print(PravegaConfig().controller_uri, PravegaConfig().username)"
    ran = call("run", "--name", name, "--", sys.executable, "-c", script).stdout
    uri, username = ran.split()
    assert uri in shown
    assert username == "admin"
    exported = call("status", "--name", name, "--export", "--account", "reader").stdout
    password = re.search(r"PRAVEGA_PASSWORD=(\S+)", exported)
    assert password is not None
    reader = PravegaConfig(controller_uri=uri, username="reader", password=password[1])
    async with PravegaClient(reader) as client:
        await client.list_scopes()
    assert password[1] not in NamedServer(name).log.read_text()

    assert processes_of(tmp_path) != []
    assert call("down", "--name", name).stdout == f"{name}: ended\n"
    assert eventually(lambda: processes_of(tmp_path) == [])
    call("status", "--name", name, code=1)


def test_run_without_a_server_starts_one_for_the_command(name):
    script = (
        "import os; print(os.environ['PRAVEGA_CONTROLLER_URI'], os.environ['PRAVEGA_CA_FILE']); raise SystemExit(5)"
    )

    ran = call("run", "--name", name, "--tls", *SMALL, "--", sys.executable, "-c", script, code=5)

    uri, ca_file = ran.stdout.split()
    assert uri.startswith("tls://localhost:")
    assert processes_of(Path(ca_file).parent.parent) == []
    assert not Path(ca_file).exists()


@pytest.fixture
def foreground(name, tmp_path):
    """`pravega-emulator up`, ready."""
    process = subprocess.Popen(
        [*COMMAND, "up", "--name", name, "--data", str(tmp_path), *SMALL],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"{name}: Pravega 0.13.0 is ready\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_however_the_command_ends_no_server_is_left(foreground, name, tmp_path, number):
    assert len(processes_of(tmp_path)) == 3  # the command, the keeper, the server

    foreground.send_signal(number)
    foreground.wait(SECONDS)

    assert eventually(lambda: processes_of(tmp_path) == [])
    assert NamedServer(name).running() is None


def test_a_server_that_dies_is_reported_with_its_log(foreground, tmp_path):
    servers = [line for line in processes_of(tmp_path) if "LocalPravegaEmulator" in line and "keeper.py" not in line]
    [pid] = [int(line.split()[1]) for line in servers]

    os.kill(pid, signal.SIGKILL)
    _, error = foreground.communicate(timeout=SECONDS)

    assert foreground.returncode == 1
    assert "pravega ended by itself" in error
    assert str(tmp_path / "logs" / "pravega.log") in error


TESTS = """
import os, pytest

@pytest.mark.parametrize("number", range(6))
def test_something(pravega_config, number):
    with open(os.environ["SEEN"], "a") as file:
        print(os.environ.get("PYTEST_XDIST_WORKER"), pravega_config.controller_uri, file=file)
"""


@pytest.fixture
def inner_tests(tmp_path):
    (tmp_path / "test_inner.py").write_text(TESTS)
    return tmp_path


def run_inner(folder: Path, *options: str) -> tuple[set[str], set[str]]:
    """The workers of a test run of its own, and the servers that they saw."""
    seen = folder / "seen"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        env={**os.environ, "SEEN": str(seen)},
        cwd=folder,
        timeout=170,
        check=True,
    )
    pairs = [line.split() for line in seen.read_text().splitlines()]
    assert len(pairs) == 6
    return {worker for worker, _ in pairs}, {uri for _, uri in pairs}


def test_workers_of_a_test_run_share_one_server_that_ends_with_the_run(inner_tests):
    workers, servers = run_inner(inner_tests, "-n", "2")

    assert workers == {"gw0", "gw1"}
    assert len(servers) == 1
    assert is_free(int(servers.pop().rsplit(":", 1)[1]))
