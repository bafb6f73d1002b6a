"""A process with an open client can start programs and fork workers (grpc/grpc#43055 kills some of them)."""

import signal
import subprocess
import sys
import uuid
from pathlib import Path

from aiopravega import PravegaConfig
from aiopravega.blocking import PravegaClient


def test_children_of_a_process_with_an_open_client_live(pravega_config: PravegaConfig):
    scope = f"forks-{uuid.uuid4().hex}"
    with PravegaClient(pravega_config) as client:
        client.create_scope(scope)
    program = Path(__file__).with_name("fork_job.py")
    done = subprocess.run(
        [sys.executable, program, pravega_config.controller_uri, scope],
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    codes = [int(code) for code in done.stdout.split()]
    # One child of some ten thousand dies in gRPC's own poller (docs/explanation/architecture.md). What its other
    # pollers do to children is an abort, not this signal.
    assert [code for code in codes if code != -signal.SIGSEGV] == [], done.stderr
    assert len(codes) <= 1, done.stderr
