"""The variable by which an Airflow knows its own runs: of tasks that make it at once, all take the same one."""

import threading
import time

from airflow.sdk import DAG, Variable, task

from airflow_pravega.tasks import claimants

NAME = "pravega_provider_instance"


def test_of_tasks_that_name_their_airflow_at_once_the_last_counts(run, monkeypatch):
    monkeypatch.setattr(claimants, "_SETTLED_SECONDS", 2.0)

    @task
    def both():
        before, names = claimants.this_instance(), []
        Variable.delete(NAME)
        claimants._instance_variable.cache_clear()
        thread = threading.Thread(target=lambda: names.append(claimants.this_instance()))
        thread.start()
        while Variable.get(NAME, default=None) is None:
            time.sleep(0.01)
        Variable.set(NAME, "other")  # by a task that had not found it either
        thread.join()
        Variable.set(NAME, before)
        claimants._instance_variable.cache_clear()
        return names

    with DAG("naming", schedule=None) as dag:
        both()
    assert run(dag).result("both") == ["other"]
