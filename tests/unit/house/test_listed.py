"""`tools/check_listed.py`: what users can name and nothing lists is named by the check."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
AIRFLOW = "providers/pravega/src/airflow_pravega"
DAGSTER = "dagster_pravega/src/dagster_pravega"
SPARK = "pyspark_pravega/src/pyspark_pravega"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The code of the hosts, the reference and the check."""
    for folder in (AIRFLOW, DAGSTER, SPARK, "docs/reference", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def check(copy: Path) -> list[str]:
    """The complaints of the check; none if it passes."""
    command: list[str | Path] = [sys.executable, copy / "tools" / "check_listed.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert not done.stderr
    return done.stdout.splitlines() if done.returncode else []


def test_all_is_listed() -> None:
    assert check(ROOT) == []


def test_an_operator_module_that_is_not_listed_is_named(copy: Path) -> None:
    (copy / AIRFLOW / "operators" / "copied.py").write_text(
        "from airflow_pravega.stream_operator import PravegaStreamOperator\n\n\n"
        "class PravegaCopyStreamOperator(PravegaStreamOperator):\n    pass\n"
    )

    (complaint,) = check(copy)

    name = "airflow_pravega.operators.copied.PravegaCopyStreamOperator"
    assert complaint == f"{name} is not in the provider's info: name its module in provider_info.py"


@pytest.mark.parametrize(
    ("folder", "name", "base"),
    [
        ("sensors", "PravegaScaleSensor", "PravegaWaitingSensor"),
        ("triggers", "PravegaScaleTrigger", "BaseTrigger"),
        ("hooks", "PravegaAdminHook", "BaseHook"),
        ("queues", "PravegaOtherMessageQueueProvider", "object"),
        ("links_of_scopes", "PravegaScopeLink", "BaseOperatorLink"),
    ],
)
def test_a_class_for_airflow_that_is_not_listed_is_named(copy: Path, folder: str, name: str, base: str) -> None:
    (copy / AIRFLOW / folder).mkdir(exist_ok=True)
    (copy / AIRFLOW / folder / "added.py").write_text(f"class {name}({base}):\n    pass\n")

    (complaint,) = check(copy)

    assert complaint.startswith(f"airflow_pravega.{folder}.added.{name} is not in the provider's info")


def test_a_decorator_that_is_not_listed_is_named(copy: Path) -> None:
    (copy / AIRFLOW / "decorators" / "arrow.py").write_text("def pravega_arrow_task():\n    pass\n")

    (complaint,) = check(copy)

    assert complaint.startswith("airflow_pravega.decorators.arrow.pravega_arrow_task is not in the provider's info")


def test_an_operator_without_a_heading_in_the_reference_is_named(copy: Path) -> None:
    module = copy / AIRFLOW / "operators" / "scope.py"
    module.write_text(f"{module.read_text()}\n\nclass PravegaListScopesOperator(BaseOperator):\n    pass\n")

    (complaint,) = check(copy)

    assert complaint.startswith("airflow_pravega.operators.scope.PravegaListScopesOperator is not in docs/reference")


@pytest.mark.parametrize(
    "code",
    ["def build_size_check():\n    pass\n", "class SizeResource(ConfigurableResource['SizeResource']):\n    pass\n"],
    ids=["builder", "resource"],
)
def test_a_builder_or_resource_of_dagster_that_is_not_public_is_named(copy: Path, code: str) -> None:
    (copy / DAGSTER / "sizes.py").write_text(code)

    (complaint,) = check(copy)

    assert complaint.endswith("is not in __all__ of dagster_pravega")


def test_a_public_name_of_dagster_without_a_heading_is_named(copy: Path) -> None:
    module = copy / DAGSTER / "__init__.py"
    module.write_text(module.read_text().replace("__all__ = [", '__all__ = [\n    "build_size_check",'))

    assert check(copy) == ["dagster_pravega.build_size_check is not in docs/reference/dagster: run make fix"]


@pytest.mark.parametrize(
    "code",
    [
        'def parse(given):\n    return given.number("largest_batch")\n',
        '_LARGEST: Final = "largest_batch"\n\n\ndef parse(given):\n    return given.text(_LARGEST)\n',
        '_LARGEST: Final = "largest_batch"\nBATCH_OPTIONS: Final = (_LARGEST,)\n',
    ],
    ids=["by its text", "by a constant", "in a list of options"],
)
def test_an_option_of_spark_that_is_not_in_the_reference_is_named(copy: Path, code: str) -> None:
    (copy / SPARK / "read" / "batches.py").write_text(code)

    (complaint,) = check(copy)

    assert "reads the option 'largest_batch', which is not in docs/reference/spark.md" in complaint
