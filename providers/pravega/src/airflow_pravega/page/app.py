"""The page as an application: its addresses, the rights to open them, and the page of an error.

A user that may read a connection in Airflow may see the streams and consumers of its cluster. Other users may not.
"""

from collections.abc import Callable, Coroutine
from datetime import UTC
from functools import cache
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_connection
from airflow.models.connection import Connection
from airflow.providers.common.compat.sdk import AirflowNotFoundException
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader
from sqlalchemy import select

from aiopravega import PravegaClient, StreamName
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.names import check_name
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.page import airflow_path
from airflow_pravega.page.consumers import (
    consumer_of,
    consumers_of,
    counted,
    picture_of,
    retention_in_words,
    scaling_in_words,
    stream_of,
)
from airflow_pravega.page.runs import paths_of_runs

T = TypeVar("T")
# The newest intervals of a consumer; `pravega cuts list` shows all.
_MOST: Final = 200
_UNAUTHORIZED: Final = 401
# The page loads nothing from other addresses, and runs no script in the browser.
_HEADERS: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"}


def make_app() -> FastAPI:
    """The application that Airflow's API server mounts."""
    app = FastAPI(title="Pravega", docs_url=None, redoc_url=None, openapi_url=None)
    may_read = [Depends(requires_access_connection("GET"))]
    app.add_api_route("/", _connections, response_class=HTMLResponse)
    app.add_api_route("/{connection_id}", _consumers, response_class=HTMLResponse, dependencies=may_read)
    app.add_api_route("/{connection_id}/stream", _stream, response_class=HTMLResponse, dependencies=may_read)
    app.add_api_route("/{connection_id}/consumer", _consumer, response_class=HTMLResponse, dependencies=may_read)
    app.add_exception_handler(PravegaError, _failed)
    app.add_exception_handler(AirflowNotFoundException, _not_found)
    app.add_exception_handler(HTTPException, _refused)
    return app


def _connections(request: Request, user: GetUserDep, session: SessionDep) -> Response:
    of_type = set(session.scalars(select(Connection.conn_id).where(Connection.conn_type == PravegaHook.conn_type)))
    may_read = get_auth_manager().get_authorized_connections(user=user, session=session)
    # The default connection may be in the environment, or in a secrets backend.
    known = sorted((of_type & may_read) | {PravegaHook.default_conn_name})
    return _page(request, "connections.html", connections=known)


def _consumers(request: Request, connection_id: str, scope: str | None = None) -> Response:
    hook = PravegaHook(connection_id)
    scope = scope or hook.get_config().scope
    if scope is None:
        raise ConfigurationError(f"connection {connection_id!r} has no default scope: add ?scope=… to the address")
    check_name("scope", scope)
    consumers = _ask(hook, lambda client: consumers_of(client, scope))
    return _page(request, "consumers.html", connection=connection_id, scope=scope, consumers=consumers)


def _stream(request: Request, connection_id: str, stream: str) -> Response:
    name = StreamName.parse(stream)
    shown = _ask(PravegaHook(connection_id), lambda client: stream_of(client, name))
    return _page(request, "stream.html", connection=connection_id, stream=shown, consumers=shown.consumers)


def _consumer(request: Request, connection_id: str, stream: str, consumer: str, session: SessionDep) -> Response:
    name = StreamName.parse(stream)
    shown, findings = _ask(PravegaHook(connection_id), lambda client: consumer_of(client, name, consumer))
    records = shown.records[-_MOST:]
    return _page(
        request,
        "consumer.html",
        connection=connection_id,
        consumer=shown,
        findings=findings,
        records=records[::-1],
        hidden=len(shown.records) - len(records),
        picture=picture_of(records),
        runs=paths_of_runs(session, records),
    )


def _ask(hook: PravegaHook, question: Callable[[PravegaClient], Coroutine[Any, Any, T]]) -> T:
    with hook.get_impatient_client() as client:
        return client.run(question(client.asynchronous))


def _page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    base = request.scope.get("root_path", "").rstrip("/")
    text = _templates().get_template(template).render(base=f"{base}/", airflow=airflow_path(), **values)
    return HTMLResponse(text, status, headers=_HEADERS)


@cache
def _templates() -> Environment:
    made = Environment(loader=PackageLoader("airflow_pravega", "page/templates"), autoescape=True)
    made.filters["time"] = lambda moment: f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    made.filters |= {"counted": counted, "scaling": scaling_in_words, "retention": retention_in_words}
    made.filters["query"] = lambda values: urlencode(values, quote_via=quote)
    return made


def _failed(request: Request, error: Exception) -> Response:
    """The page of an error; the error's text says what to do."""
    status = 400 if isinstance(error, ConfigurationError) else 502
    return _page(request, "error.html", status, kind=type(error).__name__, error=error)


def _not_found(request: Request, error: Exception) -> Response:
    return _page(request, "error.html", 404, kind="No such connection", error=error)


def _refused(request: Request, error: Exception) -> Response:
    """Redirect a user that has not logged in to the login; show the error to one that may not see the page."""
    assert isinstance(error, HTTPException)
    if error.status_code == _UNAUTHORIZED:
        to = urlencode({"next": str(request.url)})
        return RedirectResponse(f"{airflow_path()}api/v2/auth/login?{to}")
    return _page(request, "error.html", error.status_code, kind="Not allowed", error=error.detail)
