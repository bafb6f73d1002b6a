"""The kinds of sources of a token: a file, a command, a function, and the client credentials grant of OAuth 2.0.

Java's clients load a class (`Credentials`) that gives a method and a token; here a source gives a token for `Bearer`,
or a method and a token with a blank between them. Nothing that a source gives is in a message or a log.
"""

import importlib
import inspect
import json
import os
import shlex
import signal
import ssl
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from aiopravega.errors import AuthenticationError, ConfigurationError, PravegaConnectionError

_COMMAND_SECONDS: Final = 30.0
_HTTP_SECONDS: Final = 10.0
_LONGEST: Final = 64 * 1024
# The variable by which Java's `PravegaKeycloakCredentials` finds its file, and the client for whom its tokens are.
_KEYCLOAK_VARIABLE: Final = "KEYCLOAK_SERVICE_ACCOUNT_FILE"
_KEYCLOAK_AUDIENCE: Final = "pravega-controller"
_UMA_GRANT: Final = "urn:ietf:params:oauth:grant-type:uma-ticket"


def sendable(value: str) -> bool:
    """True if a header can have this value."""
    return value.isascii() and value.isprintable()


def as_header(text: str, kind: str) -> str:
    """The value of an `Authorization` header for what a source gave.

    Raises:
        AuthenticationError: it is empty, or neither a token nor a method and a token.
    """
    words = text.split()
    if not words:
        raise AuthenticationError(f"token_source ({kind}) gives nothing: it must give the token")
    if len(words) > 2 or not all(map(sendable, words)):  # noqa: PLR2004 - method and token
        raise AuthenticationError(
            f"token_source ({kind}) gives something else than a token, which is not shown: it must give the token "
            "only, or a method, a blank and the token"
        )
    return " ".join(["Bearer", *words][-2:])


def _from_file(path: str) -> str:
    try:
        with Path(path).expanduser().open("rb") as file:
            return file.read(_LONGEST).decode(errors="replace")
    except OSError as error:
        raise AuthenticationError(f"cannot read the token file {path!r}: {error.strerror}") from None


def _from_command(command: str) -> str:
    arguments = shlex.split(command)
    named = f"cannot get a token from the command {arguments[0]!r}"
    try:
        with subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=_COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
    except subprocess.TimeoutExpired:
        raise AuthenticationError(f"{named}: it did not end within {_COMMAND_SECONDS:g} s") from None
    except OSError as error:
        raise AuthenticationError(f"{named}: {error.strerror}") from None
    if process.returncode:
        raise AuthenticationError(
            f"{named}: it ended with status {process.returncode}. Its output is not shown, as it may have secrets: run "
            "it by hand"
        )
    return output[:_LONGEST].decode(errors="replace")


def _from_function(name: str) -> str:
    module, _, attribute = name.partition(":")
    named = f"cannot get a token from the function {name!r}"
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise AuthenticationError(
            f"{named}: {error}. It must be in a module that can be imported where the client runs; in Spark, on the "
            "executors as well"
        ) from None
    try:
        given = function()
    except Exception as error:
        raise AuthenticationError(f"{named}: it raised {type(error).__name__}") from error
    if isinstance(given, SecretStr):
        return given.get_secret_value()
    if not isinstance(given, str):
        if inspect.iscoroutine(given):
            given.close()
        raise AuthenticationError(f"{named}: it returned {type(given).__name__}, and not a text")
    return given


def _from_keycloak(path: str) -> str:
    """The token that `PravegaKeycloakCredentials` gets: first one of the client's own, then one for Pravega."""
    path = path or os.environ.get(_KEYCLOAK_VARIABLE, "")
    if not path:
        raise AuthenticationError(
            f"token_source is keycloak:, and {_KEYCLOAK_VARIABLE} is not set: write keycloak:PATH, or set it"
        )
    settings = _settings(path, ("auth-server-url", "realm", "resource", "credentials"))
    secret = settings["credentials"].get("secret") if isinstance(settings["credentials"], dict) else None
    if not secret:
        raise AuthenticationError(
            f"{path!r} has no secret under 'credentials': other ways of Keycloak are not known here"
        )
    server, realm = str(settings["auth-server-url"]).rstrip("/"), settings["realm"]
    url = f"{server}/realms/{realm}/protocol/openid-connect/token"
    own = _granted(url, {"grant_type": "client_credentials"}, client=(settings["resource"], secret))
    return _granted(url, {"grant_type": _UMA_GRANT, "audience": _KEYCLOAK_AUDIENCE}, bearer=own)


def _from_oauth2(path: str) -> str:
    settings = _settings(path, ("token_url", "client_id", "client_secret"))
    more = {name: str(settings[name]) for name in ("scope", "audience") if settings.get(name)}
    client = settings["client_id"], settings["client_secret"]
    return _granted(settings["token_url"], {"grant_type": "client_credentials", **more}, client=client)


def _settings(path: str, needed: tuple[str, ...]) -> Mapping[str, Any]:
    try:
        settings = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise AuthenticationError(f"cannot read {path!r}, which says how to get a token: {error.strerror}") from None
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise AuthenticationError(f"{path!r}, which says how to get a token, is not a JSON object")
    missing = [name for name in needed if not settings.get(name)]
    if missing:
        raise AuthenticationError(f"{path!r}, which says how to get a token, lacks {', '.join(missing)}")
    return settings


def _granted(
    url: str, form: Mapping[str, str], client: tuple[str, str] | None = None, bearer: str | None = None
) -> str:
    """The token that an authorization server grants (RFC 6749, section 4.4)."""
    try:
        import httpx
    except ImportError:
        raise ConfigurationError(
            "tokens of Keycloak and OAuth 2.0 need httpx: pip install 'aiopravega[schema]'"
        ) from None

    what = f"cannot get a token at {url}"
    headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
    try:
        answer = httpx.post(
            url,
            data=dict(form),
            headers=headers,
            auth=None if client is None else httpx.BasicAuth(*client),
            timeout=_HTTP_SECONDS,
            verify=ssl.create_default_context(),
        )
    except httpx.TimeoutException:
        raise PravegaConnectionError(f"{what}: no answer within {_HTTP_SECONDS:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise PravegaConnectionError(f"{what}: {error}") from None
    try:
        body = answer.json()
    except ValueError:
        body = None
    fields = body if isinstance(body, dict) else {}
    if answer.is_server_error:
        raise PravegaConnectionError(f"{what}: status {answer.status_code}")
    token = fields.get("access_token")
    if not answer.is_success or not isinstance(token, str):
        said = " ".join(str(fields[name]) for name in ("error", "error_description") if name in fields)
        raise AuthenticationError(
            f"{what}: status {answer.status_code}{f' ({said})' if said else ''}: check the client's name and secret, "
            "and what it may do"
        )
    return token


FETCH: Final[Mapping[str, Callable[[str], str]]] = {
    "file": _from_file,
    "command": _from_command,
    "function": _from_function,
    "keycloak": _from_keycloak,
    "oauth2": _from_oauth2,
}
