"""The entry "Pravega" in Airflow's menu; `airflow_pravega.page` makes its page."""

from typing import Any, Final

from airflow.plugins_manager import AirflowPlugin

from airflow_pravega.page import PREFIX, page_path


class _Page:
    """The page as an ASGI application that is made at its first request: every process of Airflow loads plugins."""

    def __init__(self) -> None:
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            from airflow_pravega.page.app import make_app

            self._app = make_app()
        await self._app(scope, receive, send)


_APPS: Final = [{"name": "Pravega", "app": _Page(), "url_prefix": PREFIX}]
# Without a `url_route` it opens as a page: Airflow's frame for such views lets no link lead out of it.
_VIEWS: Final = [{"name": "Pravega", "href": page_path(), "destination": "nav", "category": "browse"}]


class PravegaPlugin(AirflowPlugin):
    """The page of the consumers of streams: the ranges that they have read, and their lag, by the cut ledgers."""

    name = "pravega"
    fastapi_apps = _APPS
    external_views = _VIEWS
