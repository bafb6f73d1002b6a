"""A program with an open client that starts programs and forks workers; prints the exit codes of those that failed."""

import os
import signal
import subprocess
import sys

from aiopravega import PravegaConfig
from aiopravega.blocking import PravegaClient

TIMES = 60
# A worker that hangs is a failure; one that waits for its turn on a busy machine is none.
SECONDS = 240


def use(config: PravegaConfig, scope: str) -> None:
    """Ask the controller with a client of this process's own."""
    with PravegaClient(config) as client:
        assert client.list_streams(scope) == []


def report(code: int, number: int, what: str) -> None:
    """Say what has become of a child that did not end well; a negative code is a signal."""
    if code:
        print(f"{what} {number} ended with {code}", file=sys.stderr)
        print(code)


def main() -> None:
    """Command line: the controller's URI and a scope."""
    config, scope = PravegaConfig(controller_uri=sys.argv[1]), sys.argv[2]
    with PravegaClient(config) as client:
        for number in range(TIMES):
            client.list_streams(scope)
            ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731 - as Spark has it
            program = subprocess.Popen(["true"], preexec_fn=ignore)  # noqa: PLW1509 - as Spark starts its Java gateway
            report(program.wait(SECONDS), number, "program")
            if os.fork() == 0:
                signal.alarm(SECONDS)
                use(config, scope)
                os._exit(0)
            report(os.waitstatus_to_exitcode(os.wait()[1]), number, "worker")
        client.list_streams(scope)


if __name__ == "__main__":
    main()
