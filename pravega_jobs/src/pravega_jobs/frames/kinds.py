"""Kinds of frames that a function asks for by the annotation of a parameter, and that hosts give it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.errors import ConfigurationError
from pravega_jobs.frames.read import LARGEST_TABLE, ReadableRange, read_arrow, read_pandas, read_polars, read_table
from pravega_jobs.frames.scan import scan_duckdb, scan_polars

_READERS: Final[Mapping[tuple[str, str], Callable[..., Any]]] = {
    ("pyarrow", "RecordBatchReader"): read_arrow,
    ("pyarrow", "Table"): read_table,
    ("polars", "LazyFrame"): scan_polars,
    ("polars", "DataFrame"): read_polars,
    ("pandas", "DataFrame"): read_pandas,
    ("duckdb", "DuckDBPyRelation"): scan_duckdb,
}
# In memory as a whole.
_WHOLE: Final = (read_table, read_polars, read_pandas)
# The names under which programs import the packages.
_SHORT: Final = {"pa": "pyarrow", "pl": "polars", "pd": "pandas"}
FRAMES: Final = ", ".join(".".join(each) for each in _READERS)


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
        if (package, name) not in _READERS:
            raise ConfigurationError(
                f"{what} has the annotation {annotation!r}, but must have one of {FRAMES}: the class, or its text"
            )
        return cls(package, name)

    def read(
        self,
        of: ReadableRange,
        registry: SchemaRegistry | None = None,
        options: Mapping[str, Any] | None = None,
        largest: int = LARGEST_TABLE,
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
        reader = _READERS[self.package, self.name]
        more = {"largest": largest} if reader in _WHOLE else {}
        return reader(of, registry=registry, **more, **(options or {}))
