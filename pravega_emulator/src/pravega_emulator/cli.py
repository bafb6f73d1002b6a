"""The command `pravega-emulator`: up, down, status, run, load, fetch."""

import argparse
import os
import secrets
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from aiopravega.errors import ConfigurationError, EmulatorError, PravegaError
from pravega_emulator.durable import DurablePravega
from pravega_emulator.fetch import ensure_jars
from pravega_emulator.lifecycle import Emulator
from pravega_emulator.named import NamedServer
from pravega_emulator.sandbox import add_load_options, offered
from pravega_emulator.server import Account, PravegaServer
from pravega_emulator.standalone import PravegaEmulator

DEFAULT_NAME = "default"
READ_ONLY = "prn::*,READ"
_POLL_SECONDS = 0.5
_COMMAND_NOT_FOUND = 127
_INTERRUPTED = 130
_SERVER_OPTIONS = ("schema_registry", "tls", "auth", "durable", "data", "port", "cache", "heap", "full_jit", "set")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(words)
    try:
        code: int = options.action(options, words)
    except PravegaError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pravega-emulator",
        description="A real Pravega 0.13.0 on this machine, for tests and for trying things out.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="start a server, and keep it until Ctrl-C or 'down'")
    _add_server_options(up)
    up.add_argument("--detach", action="store_true", help="return when it is ready, and let it run on")
    up.add_argument("--restart", action="store_true", help="with --durable: start a process again that ended")
    up.add_argument("--owner", type=int, metavar="PID", help="end the server when this process is gone")
    up.set_defaults(action=_up)

    down = commands.add_parser("down", help="end a server")
    _add_name(down)
    down.set_defaults(action=_down)

    status = commands.add_parser("status", help="show the servers that run")
    status.add_argument("--name", help="only this one; exit code 1 if it does not run")
    status.add_argument(
        "--export", action="store_true", help="print shell commands that set the environment (has secrets)"
    )
    status.add_argument("--account", help="with --export: the credentials of this account instead of admin's")
    status.set_defaults(action=_status)

    run = commands.add_parser(
        "run", help="run a command with the environment of a server: the one with this name, else one of its own"
    )
    _add_server_options(run)
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND ...")
    run.set_defaults(action=_run)

    load = commands.add_parser(
        "load",
        help="copy recorded intervals of another cluster into a server, to replay them (needs pravega-jobs[sql])",
    )
    _add_name(load)
    add_load_options(load)
    load.set_defaults(action=_load)

    fetch = commands.add_parser("fetch", help="fetch the servers' jars, so that later starts need no network")
    fetch.set_defaults(action=_fetch)
    return parser


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default=DEFAULT_NAME, help="several servers run side by side under different names")


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    _add_name(parser)
    parser.add_argument("--schema-registry", action="store_true", help="start the Schema Registry 0.6.0 too")
    parser.add_argument("--tls", action="store_true", help="encrypt, with certificates made for this server")
    parser.add_argument("--auth", action="store_true", help="ask for credentials; makes the accounts admin and reader")
    parser.add_argument("--durable", action="store_true", help="four processes, and data that survive a restart")
    parser.add_argument("--data", metavar="DIR", help="keep logs and storage here (with --durable: everything)")
    parser.add_argument("--port", type=int, help="port of the controller; default: a free one (not with --durable)")
    parser.add_argument(
        "--cache", type=int, metavar="MB", help="read and write cache, default 1024 (not with --durable)"
    )
    parser.add_argument("--heap", type=int, metavar="MB", help="Java heap, default 1024 (not with --durable)")
    parser.add_argument(
        "--full-jit", action="store_true", help="compile hot code thoroughly: for benchmarks (not with --durable)"
    )
    parser.add_argument(
        "--set", action="append", type=_setting, metavar="KEY=VALUE", help="a setting of Pravega (not with --durable)"
    )


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text!r}: expected KEY=VALUE")
    return key, value


def _emulator(options: argparse.Namespace) -> Emulator:
    accounts = [Account("reader", secrets.token_urlsafe(16), READ_ONLY)] if options.auth else []
    sizes = {"port": options.port, "cache_megabytes": options.cache, "heap_megabytes": options.heap}
    settings = dict(options.set) if options.set else None
    more = {"full_jit": options.full_jit or None, "settings": settings}
    given = {name: value for name, value in {**sizes, **more}.items() if value is not None}
    common = {
        "schema_registry": options.schema_registry,
        "tls": options.tls,
        "auth": options.auth,
        "accounts": accounts,
        "data": options.data,
    }
    if not options.durable:
        return PravegaEmulator(**common, **given)
    if given:
        raise ConfigurationError("--port, --cache, --heap, --full-jit and --set are not for --durable")
    return DurablePravega(**common)


def _up(options: argparse.Namespace, words: list[str]) -> int:
    if options.restart and not options.durable:
        raise ConfigurationError("--restart is for --durable: other servers lose their data when their process ends")
    named = NamedServer(options.name)
    if options.detach:
        with named.claimed():
            ensure_jars()  # here, where the user sees the progress
        words.remove("--detach")
        _show(named, named.start_detached(words[1:]))
        return 0
    with named.claimed(), _ended_by_signals(), _emulator(options) as emulator:
        named.publish(emulator.server)
        _show(named, emulator.server)
        while _is_alive(options.owner):
            if options.restart and isinstance(emulator, DurablePravega):
                for process in emulator.revive():
                    print(f"{process} ended and was started again", flush=True)
            emulator.check_running()
            time.sleep(_POLL_SECONDS)
    return 0


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turn the polite ways to end a process into an orderly end of the block."""

    def leave(*_: object) -> NoReturn:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    yield


def _is_alive(pid: int | None) -> bool:
    if pid is None:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # alive, and another user's
        return True
    return True


def _down(options: argparse.Namespace, _: list[str]) -> int:
    if NamedServer(options.name).stop():
        print(f"{options.name}: ended")
    else:
        print(f"{options.name}: no such server runs{_others()}")
    return 0


def _others() -> str:
    """The names of the servers that run, where the one that was asked for does not."""
    names = [named.name for named in NamedServer.matching() if named.running() is not None]
    return f"; name one of those that do by --name: {', '.join(names)}" if names else ""


def _status(options: argparse.Namespace, _: list[str]) -> int:
    servers = NamedServer.matching() if options.name is None else [NamedServer(options.name)]
    if options.export and options.name is None:
        servers = [NamedServer(DEFAULT_NAME)]
    running = [(named, server) for named in servers if (server := named.running()) is not None]
    if not running:
        asked = options.name or (DEFAULT_NAME if options.export else None)
        print("no emulator runs" if asked is None else f"{asked}: not running{_others()}", file=sys.stderr)
        return 1
    for named, server in running:
        if options.export:
            for variable, value in server.environment(options.account).items():
                print(f"export {variable}={shlex.quote(value)}")
        else:
            _show(named, server)
    return 0


def _run(options: argparse.Namespace, _: list[str]) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise ConfigurationError("there is no command to run: pravega-emulator run -- COMMAND")
    named = NamedServer(options.name)
    running = named.running()
    if running is None:
        with _emulator(options) as emulator:
            return _run_with(emulator.server, command)
    given = [f"--{name.replace('_', '-')}" for name in _SERVER_OPTIONS if getattr(options, name)]
    if given:
        raise ConfigurationError(
            f"the emulator {named.name!r} runs already, and cannot change {', '.join(given)}: leave the options out to "
            "use it as it is, or give another --name to start one for this command"
        )
    return _run_with(running, command)


def _run_with(server: PravegaServer, command: list[str]) -> int:
    environment = {name: value for name, value in os.environ.items() if name not in PravegaServer.VARIABLES}
    # Ctrl-C is for the command; a function, unlike SIG_IGN, is not inherited by it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(command, env=environment | server.environment(), check=False).returncode
    except OSError as error:
        print(f"error: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        return _COMMAND_NOT_FOUND
    finally:
        signal.signal(signal.SIGINT, before)


def _load(options: argparse.Namespace, _: list[str]) -> int:
    server = NamedServer(options.name).running()
    if server is None:
        raise EmulatorError(f"{options.name}: not running{_others()}; start it by 'pravega-emulator up --detach'")
    code: int = offered("load")(options, server.config)
    return code


def _fetch(_options: argparse.Namespace, _: list[str]) -> int:
    print(ensure_jars())
    return 0


def _show(named: NamedServer, server: PravegaServer) -> None:
    print(f"{named.name}: Pravega 0.13.0 is ready")
    print(f"  controller       {server.controller_uri}")
    if server.schema_registry_uri:
        print(f"  schema registry  {server.schema_registry_uri}")
    if server.ca_file:
        print(f"  CA file          {server.ca_file}")
    if server.accounts:
        print(f"  accounts         {', '.join(account.name for account in server.accounts)}")
    print(f"  logs             {server.logs}")
    print(f'  environment      eval "$(pravega-emulator status --name {named.name} --export)"', flush=True)
