"""Fail when something that users can name is listed nowhere: neither where its host looks, nor in the reference.

- Airflow: each operator, sensor, trigger, hook, decorator, queue and link is in the provider's info, and all but links
  have a heading in `docs/reference/airflow`.
- Dagster: each builder, resource, IO manager and component is in `__all__` of `dagster_pravega`, and all of `__all__`
  has a heading in `docs/reference/dagster`.
- Spark: each option that the data source reads is in a table of `docs/reference/spark.md`.

The code is parsed, not imported. A class from which others here derive is a base, and need not be listed.
"""

import ast
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
AIRFLOW, DAGSTER, SPARK = (
    ROOT / folder / "src" / package
    for folder, package in (
        ("providers/pravega", "airflow_pravega"),
        ("dagster_pravega", "dagster_pravega"),
        ("pyspark_pravega", "pyspark_pravega"),
    )
)
HOSTED = re.compile(r"(Operator|Sensor|Trigger|Hook)$")
LINK = "BaseOperatorLink"
QUEUE = re.compile(r"MessageQueueProvider$")
BUILT = re.compile(r"^(build|pravega)_")
DEFINED = re.compile(r"(Resource|IOManager|Component|Definition)$")
GETTERS = {"text", "flag", "number", "choice"}
OPTIONS = re.compile(r"^_?[A-Z_]*OPTIONS$")
HEADING = re.compile(r"^## (\S+)$", re.MULTILINE)

Modules = dict[str, ast.Module]


def modules(package: Path) -> Modules:
    """The modules of a package, parsed, by their names."""
    return {
        ".".join(path.relative_to(package.parent).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


def base_names(kind: ast.ClassDef) -> set[str]:
    """The names of a class's bases, without modules and parameters: `Generic` for `typing.Generic[T]`."""
    plain = [base.value if isinstance(base, ast.Subscript) else base for base in kind.bases]
    return {ast.unparse(base).rpartition(".")[2] for base in plain}


def leaves(found: Modules) -> Iterator[tuple[str, ast.ClassDef, set[str]]]:
    """The public classes from which no other one derives: the module, the class, and all that it inherits from."""
    kinds = [(module, node) for module, tree in found.items() for node in tree.body if isinstance(node, ast.ClassDef)]
    above = {node.name: base_names(node) for _, node in kinds}
    derived_from = set().union(*above.values())

    def inherited(name: str) -> set[str]:
        return {name}.union(*map(inherited, above.get(name, ())))

    for module, node in kinds:
        if not node.name.startswith("_") and node.name not in derived_from:
            yield module, node, inherited(node.name) - {node.name}


def functions(found: Modules) -> Iterator[tuple[str, str]]:
    """The public functions of modules: the module, and the name."""
    for module, tree in found.items():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield module, node.name


def headings(folder: Path) -> set[str]:
    """The headings of all pages of a folder."""
    return {name for page in folder.rglob("*.md") for name in HEADING.findall(page.read_text(encoding="utf-8"))}


def airflow() -> Iterator[str]:
    """Complaints about the provider for Airflow."""
    info = runpy.run_path(str(AIRFLOW / "provider_info.py"))["get_provider_info"]()
    known = {
        name
        for kind in ("operators", "sensors", "triggers", "hooks")
        for part in info[kind]
        for name in part["python-modules"]
    }
    decorators = {each["class-name"]: f"@task.{each['name']}" for each in info["task-decorators"]}
    named = {*info["queues"], *info["extra-links"], *decorators}
    documented = headings(REFERENCE / "airflow")
    found = modules(AIRFLOW)
    for module, kind, bases in leaves(found):
        path = f"{module}.{kind.name}"
        is_link = LINK in bases
        if not is_link and not any(map(HOSTED.search, bases)) and not QUEUE.search(kind.name):
            continue
        if module not in known and path not in named:
            yield f"{path} is not in the provider's info: name its module in provider_info.py"
        elif not is_link and kind.name not in documented:
            yield f"{path} is not in docs/reference/airflow: run make fix; is its name Pravega…?"
    for module, name in functions(found):
        path = f"{module}.{name}"
        if module.startswith("airflow_pravega.decorators."):
            if path not in decorators:
                yield f"{path} is not in the provider's info: name it as one of its task-decorators in provider_info.py"
            elif decorators[path].split()[0] not in documented:
                yield f"{path} is not in docs/reference/airflow: run make fix"


def dagster() -> Iterator[str]:
    """Complaints about the library for Dagster."""
    found = modules(DAGSTER)
    (public,) = (
        set(ast.literal_eval(node.value))
        for node in found["dagster_pravega.__init__"].body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    named = {(module, name) for module, name in functions(found) if BUILT.search(name)}
    named |= {
        (module, kind.name) for module, kind, bases in leaves(found) if any(map(DEFINED.search, {*bases, kind.name}))
    }
    for module, name in sorted(named):
        if name not in public:
            yield f"{module}.{name} is not in __all__ of dagster_pravega"
    for name in sorted(public - headings(REFERENCE / "dagster")):
        yield f"dagster_pravega.{name} is not in docs/reference/dagster: run make fix"


def texts(tree: ast.Module) -> dict[str, str]:
    """The constants of a module that are texts."""
    found = {}
    for node in tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and isinstance(node, ast.AnnAssign):
            match node.value:
                case ast.Constant(str(text)):
                    found[target.id] = text
    return found


def option_names(tree: ast.Module, constants: dict[str, str]) -> Iterator[str]:
    """The options that a module reads, or has in a list of options."""
    for node in ast.walk(tree):
        given: list[ast.expr] = []
        match node:
            case ast.Call(ast.Attribute(ast.Name("given"), getter), [first, *_]) if getter in GETTERS:
                given = [first]
            case ast.Call(ast.Name("choice"), [_, second, *_]):
                given = [second]
            case ast.AnnAssign(ast.Name(name), value=ast.Tuple(parts)) if OPTIONS.match(name):
                given = parts
        for each in given:
            match each:
                case ast.Constant(str(text)):
                    yield text
                case ast.Name(name) if name in constants:
                    yield constants[name]


def spark() -> Iterator[str]:
    """Complaints about the options of Spark's data source."""
    documented = set(re.findall(r"^\| `(\w+)` \|", (REFERENCE / "spark.md").read_text(encoding="utf-8"), re.MULTILINE))
    found = modules(SPARK)
    everywhere = {name: text for tree in found.values() for name, text in texts(tree).items()}
    for module, tree in found.items():
        for option in sorted({*option_names(tree, everywhere | texts(tree))} - documented):
            yield f"{module} reads the option {option!r}, which is not in docs/reference/spark.md: run make fix"


def main() -> int:
    """Check all three."""
    complaints = [*airflow(), *dagster(), *spark()]
    print("\n".join(complaints) or "all that users can name is listed, and in the reference")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
