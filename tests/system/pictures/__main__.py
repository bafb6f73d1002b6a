"""Take the pictures of Airflow's and Dagster's pages that the documentation shows, from real processes.

python -m tests.system.pictures [--only airflow]

It needs Chromium and ChromeDriver (Debian's packages `chromium` and `chromium-driver`), and, for Airflow, PostgreSQL.
"""

import argparse

from tests.system.pictures import airflow_pages, airflow_waits, component_page, dagster_pages, pravega_page

PAGES = {
    "airflow": airflow_pages.take,
    "waits": airflow_waits.take,
    "component": component_page.take,
    "dagster": dagster_pages.take,
    "page": pravega_page.take,
}


def main() -> None:
    """Take the pictures of some pages, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PAGES), help="of these alone")
    only = parser.parse_args().only
    for host in PAGES if only is None else (only,):
        PAGES[host]()


if __name__ == "__main__":
    main()
