"""The lowest versions that are tested are those that the bounds allow: a bound that is raised is resolved again."""

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.release import FOLDERS
from tools.write_lowest import LOWEST, entries, requirements


def test_the_locks_of_lowest_versions_fit_the_bounds():
    asked = [Requirement(text) for folder in FOLDERS for text in requirements(folder)]
    locks = sorted(LOWEST.glob("*.lock"))
    assert len(locks) == len(FOLDERS)
    checked = set()
    for lock in locks:
        for name, version in entries(lock.read_text(encoding="utf-8")):
            for requirement in asked:
                if canonicalize_name(requirement.name) == name and requirement.specifier:
                    assert requirement.specifier.contains(version), f"{lock.name} has {name} {version}: {requirement}"
                    checked.add(name)
    assert {"grpcio", "pyspark", "dagster", "apache-airflow-core"} <= checked
