"""The source of the demo: runs the DAG `flights_replay` in a process and with an Airflow of its own.

python -m example_dags.demo.replay HOME CONTROLLER_URI FIRST_DAY LAST_DAY
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from example_dags.demo import airflow_runs


def main() -> None:
    """Replay the days; the last line printed is the number of flights."""
    home, controller_uri, first_day, last_day = sys.argv[1:]
    sys.path.insert(0, str(airflow_runs.DAGS))
    airflow_runs.prepare(Path(home), controller_uri)
    results = airflow_runs.run(
        airflow_runs.example().flights_replay,
        datetime(2013, 1, int(last_day), tzinfo=UTC),
        first_day=int(first_day),
        last_day=int(last_day),
    )
    print(results["replay"])


if __name__ == "__main__":
    main()
