"""The page as an application: its addresses, the rights to open them, and the page of an error.

A user that may read a connection in Airflow may see the streams and consumers of its cluster. Other users may not.
"""

from base64 import b64encode
from collections.abc import Callable, Coroutine
from datetime import UTC
from functools import cache
from hashlib import sha256
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_connection
from airflow.models.connection import Connection
from airflow.providers.common.compat.sdk import AirflowNotFoundException
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader
from sqlalchemy import select

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import ConfigurationError, PermissionDeniedError, PravegaError
from aiopravega.names import check_name
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.page import airflow_path
from airflow_pravega.page.consumers import (
    consumer_of,
    counted,
    picture_of,
    retention_in_words,
    scaling_in_words,
    stream_of,
)
from airflow_pravega.page.overview import ORDERS, Wanted, overview_of
from airflow_pravega.page.runs import paths_of_runs

T = TypeVar("T")
# Intervals of one page of a consumer.
_INTERVALS: Final = 200
_UNAUTHORIZED: Final = 401
# Airflow's pages keep the choice of the user there; without one, they are like the user's system.
_THEME: Final = """
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.classList.add(theme);
} catch {}
"""
_DIGEST: Final = b64encode(sha256(_THEME.encode()).digest()).decode()
# The page loads nothing from other addresses but Airflow's, and runs no other script.
_HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; script-src 'sha256-{_DIGEST}'; style-src 'unsafe-inline'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'"
}


def make_app() -> FastAPI:
    """The application that Airflow's API server mounts."""
    app = FastAPI(title="Pravega", docs_url=None, redoc_url=None, openapi_url=None)
    may_read = [Depends(requires_access_connection("GET"))]
    app.add_api_route("/", _connections, response_class=HTMLResponse)
    app.add_api_route("/{connection_id}", _consumers, response_class=HTMLResponse, dependencies=may_read)
    app.add_api_route("/{connection_id}/scopes", _scopes, response_class=HTMLResponse, dependencies=may_read)
    app.add_api_route("/{connection_id}/stream", _stream, response_class=HTMLResponse, dependencies=may_read)
    app.add_api_route("/{connection_id}/consumer", _consumer, response_class=HTMLResponse, dependencies=may_read)
    app.add_exception_handler(PravegaError, _failed)
    app.add_exception_handler(AirflowNotFoundException, _not_found)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _misread)
    return app


def _connections(request: Request, user: GetUserDep, session: SessionDep) -> Response:
    of_type = set(session.scalars(select(Connection.conn_id).where(Connection.conn_type == PravegaHook.conn_type)))
    may_read = get_auth_manager().get_authorized_connections(user=user, session=session)
    # The default connection may be in the environment, or in a secrets backend.
    known = sorted((of_type & may_read) | {PravegaHook.default_conn_name})
    return _page(request, "connections.html", connections=known)


def _consumers(
    request: Request, connection_id: str, scope: str = "", q: str = "", order: str = "worst", page: int = 1
) -> Response:
    hook = PravegaHook(connection_id)
    named = scope or hook.get_config().scope
    if named is None:
        return _scopes(request, connection_id)
    check_name("scope", named)
    wanted = Wanted(q.strip(), order, page)
    overview = _ask(hook, lambda client: overview_of(client, named, wanted))
    return _page(request, "consumers.html", connection=connection_id, scope=named, overview=overview)


def _scopes(request: Request, connection_id: str) -> Response:
    """The scopes to choose from; an account that may not list them can still type one."""
    try:
        scopes = _ask(PravegaHook(connection_id), lambda client: client.list_scopes())
    except PermissionDeniedError:
        scopes = None
    return _page(request, "scopes.html", connection=connection_id, scopes=scopes)


def _stream(
    request: Request, connection_id: str, stream: str, q: str = "", order: str = "worst", page: int = 1
) -> Response:
    name = StreamName.parse(stream)
    wanted = Wanted(q.strip(), order, page)
    shown = _ask(PravegaHook(connection_id), lambda client: stream_of(client, name, wanted))
    return _page(
        request,
        "stream.html",
        connection=connection_id,
        scope=name.scope,
        stream=shown,
        overview=shown.overview,
    )


def _consumer(
    request: Request, connection_id: str, stream: str, consumer: str, session: SessionDep, page: int = 1
) -> Response:
    name = StreamName.parse(stream)
    shown, findings = _ask(PravegaHook(connection_id), lambda client: consumer_of(client, name, consumer))
    newest_first = shown.records[::-1]
    pages = -(-len(newest_first) // _INTERVALS)
    if not 1 <= page <= pages:
        raise ConfigurationError(f"there is no page {page}: {consumer!r} has {pages}, of {_INTERVALS} intervals each")
    records = newest_first[(page - 1) * _INTERVALS : page * _INTERVALS]
    return _page(
        request,
        "consumer.html",
        connection=connection_id,
        scope=name.scope,
        consumer=shown,
        findings=findings,
        records=records,
        page=page,
        pages=pages,
        picture=picture_of(records[::-1]),
        runs=paths_of_runs(session, records),
    )


def _ask(hook: PravegaHook, question: Callable[[PravegaClient], Coroutine[Any, Any, T]]) -> T:
    with hook.get_impatient_client() as client:
        return client.run(question(client.asynchronous))


def _page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    base = request.scope.get("root_path", "").rstrip("/")
    text = _templates().get_template(template).render(base=f"{base}/", airflow=airflow_path(), theme=_THEME, **values)
    return HTMLResponse(text, status, headers=_HEADERS)


@cache
def _templates() -> Environment:
    made = Environment(loader=PackageLoader("airflow_pravega", "page/templates"), autoescape=True)
    made.filters["time"] = lambda moment: f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    made.filters |= {"counted": counted, "scaling": scaling_in_words, "retention": retention_in_words}
    made.globals["ORDERS"] = {order: words for order, (words, _) in ORDERS.items()}
    made.filters["query"] = lambda values: urlencode(values, quote_via=quote)
    return made


def _failed(request: Request, error: Exception) -> Response:
    """The page of an error; the error's text says what to do."""
    status = 400 if isinstance(error, ConfigurationError) else 502
    return _page(request, "error.html", status, kind=type(error).__name__, error=error)


def _not_found(request: Request, error: Exception) -> Response:
    return _page(request, "error.html", 404, kind="No such connection", error=error)


def _misread(request: Request, error: Exception) -> Response:
    """The page for an address with a value that is missing, or not a number."""
    assert isinstance(error, RequestValidationError)
    wrong = "; ".join(f"{each['loc'][-1]}: {each['msg']}" for each in error.errors())
    return _page(request, "error.html", 400, kind="This address cannot be read", error=wrong)


def _refused(request: Request, error: Exception) -> Response:
    """Redirect a user that has not logged in to the login; show the error to one that may not see the page."""
    assert isinstance(error, HTTPException)
    if error.status_code == _UNAUTHORIZED:
        to = urlencode({"next": str(request.url)})
        return RedirectResponse(f"{airflow_path()}api/v2/auth/login?{to}")
    return _page(request, "error.html", error.status_code, kind="Not allowed", error=error.detail)
