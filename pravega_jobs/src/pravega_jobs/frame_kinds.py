"""Kinds of frames that a function asks for by the annotation of its first parameter, and that hosts give it.

A host reads annotations where neither Arrow nor the libraries of frames are installed.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Self

from aiopravega.errors import ConfigurationError

if TYPE_CHECKING:
    import pyarrow as pa

    from aiopravega.blocking.registry import SchemaRegistry
    from pravega_jobs.frames.read import ReadableRange

_KINDS: Final = (
    ("pyarrow", "RecordBatchReader"),
    ("pyarrow", "Table"),
    ("polars", "LazyFrame"),
    ("polars", "DataFrame"),
    ("pandas", "DataFrame"),
    ("duckdb", "DuckDBPyRelation"),
)
# The names under which programs import the packages.
_SHORT: Final = {"pa": "pyarrow", "pl": "polars", "pd": "pandas"}
FRAMES: Final = ", ".join(".".join(each) for each in _KINDS)


def need(extra: str, *packages: str) -> None:
    """Refuse to continue without packages that an extra of pravega-jobs brings.

    Raises:
        ConfigurationError: one of them is not installed.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ConfigurationError(f"{missing[0]} is not installed: pip install 'pravega-jobs[{extra}]'")


def need_arrow() -> None:
    """Refuse to continue without the libraries that all frames need.

    Raises:
        ConfigurationError: one is not installed.
    """
    need("arrow", "pyarrow", "numpy", "httpx")


def range_parameter(function: Callable[..., object]) -> str:
    """The name of a function's first parameter, which gets the range of a task.

    Raises:
        ConfigurationError: the function has none, or returns before its work is done.
    """
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise ConfigurationError(
            f"{function.__name__} would return before the range is processed: write a function without async and yield"
        )
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            return parameter.name
        break
    raise ConfigurationError(
        f"{function.__name__} gets the range of a stream as its first argument, but has none: write "
        "def task(events, …), and call it with a sensor's output"
    )


@dataclass(frozen=True, slots=True)
class FrameKind:
    """A kind of frame: the package and the name of its class."""

    package: str
    name: str

    @classmethod
    def of(cls, annotation: Any, what: str) -> Self:
        """The kind that an annotation names; no package is imported.

        Args:
            annotation: the class, or its text, such as `"pl.LazyFrame"`.
            what: the parameter, for messages.

        Raises:
            ConfigurationError: it names none.
        """
        if isinstance(annotation, str):
            package, _, name = annotation.strip().rpartition(".")
            package = _SHORT.get(package, package)
        else:
            package = str(getattr(annotation, "__module__", "")).partition(".")[0].lstrip("_")
            name = str(getattr(annotation, "__name__", ""))
        if (package, name) not in _KINDS:
            raise ConfigurationError(
                f"{what} has the annotation {annotation!r}, but must have one of {FRAMES}: the class, or its text"
            )
        return cls(package, name)

    @classmethod
    def of_parameter(cls, function: Callable[..., Any], parameter: str) -> Self:
        """The kind by the annotation of a function's parameter.

        Raises:
            ConfigurationError: there is none, or it names no frame.
        """
        what = f"the parameter {parameter!r} of {function.__name__}"
        annotation = inspect.signature(function).parameters[parameter].annotation
        if annotation is inspect.Parameter.empty:
            raise ConfigurationError(
                f"{what} says what it gets by its annotation, and has none: write one of {FRAMES}, as a class or as "
                'its text, such as "polars.LazyFrame"'
            )
        return cls.of(annotation, what)

    def read(
        self,
        of: "ReadableRange",
        registry: "SchemaRegistry | None",
        options: Mapping[str, Any],
        largest: int,
    ) -> Any:
        """The events of a range as such a frame.

        Args:
            of: the range.
            registry: as of `read_arrow`.
            options: as of `read_arrow`.
            largest: the most bytes of a range that is in memory as a whole.

        Raises:
            ConfigurationError: the package is not installed, the range has more bytes, or as `read_arrow`.
            PravegaError: as `read_arrow`.
        """
        need_arrow()
        from pravega_jobs import tables
        from pravega_jobs.frames import scan
        from pravega_jobs.frames.read import plan_read

        tables.need(self.package)
        planned = plan_read(of, None, registry, options)
        match self.package, self.name:
            case "pyarrow", "RecordBatchReader":
                return planned.scan.batches()
            case "polars", "LazyFrame":
                return scan.lazy_frame(planned.scan)
            case "duckdb", _:
                return scan.relation(planned.scan)
        return self.of_table(planned.table(largest))

    def of_table(self, table: "pa.Table") -> Any:
        """A table of Arrow as such a frame.

        Raises:
            ConfigurationError: the package is not installed.
        """
        from pravega_jobs import tables

        tables.need(self.package)
        match self.package, self.name:
            case "pyarrow", "RecordBatchReader":
                return table.to_reader()
            case "polars", "LazyFrame":
                return tables.to_polars(table).lazy()
            case "duckdb", _:
                import duckdb

                return duckdb.from_arrow(table)
        convert = {"polars": tables.to_polars, "pandas": tables.to_pandas}.get(self.package)
        return table if convert is None else convert(table)
