"""Kinds of frames that a function asks for by the annotation of a parameter, and that hosts give it.

A host reads annotations where neither Arrow nor the libraries of frames are installed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Self

from aiopravega.errors import ConfigurationError

if TYPE_CHECKING:
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
        whole = planned.table(largest)
        convert = {"polars": tables.to_polars, "pandas": tables.to_pandas}.get(self.package)
        return whole if convert is None else convert(whole)
