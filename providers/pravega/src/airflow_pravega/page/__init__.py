"""The page "Pravega" of Airflow's server, and its address, which is below the path of `[api] base_url`."""

from typing import Final
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import conf

PREFIX: Final = "/pravega"


def airflow_path() -> str:
    """The path of Airflow's own pages, with a slash at its end."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/") + "/"


def page_path() -> str:
    """The path of this page, with a slash at its end."""
    return f"{airflow_path().rstrip('/')}{PREFIX}/"
