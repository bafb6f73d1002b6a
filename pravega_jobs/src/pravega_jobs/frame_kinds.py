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

# The functions of `pravega_jobs.frames` that make them.
_READERS: Final[Mapping[tuple[str, str], str]] = {
    ("pyarrow", "RecordBatchReader"): "read_arrow",
    ("pyarrow", "Table"): "read_table",
    ("polars", "LazyFrame"): "scan_polars",
    ("polars", "DataFrame"): "read_polars",
    ("pandas", "DataFrame"): "read_pandas",
    ("duckdb", "DuckDBPyRelation"): "scan_duckdb",
}
# In memory as a whole.
_WHOLE: Final = ("read_table", "read_polars", "read_pandas")
# The names under which programs import the packages.
_SHORT: Final = {"pa": "pyarrow", "pl": "polars", "pd": "pandas"}
FRAMES: Final = ", ".join(".".join(each) for each in _READERS)


def need_arrow() -> None:
    """Refuse to continue without the libraries that frames need.

    Raises:
        ConfigurationError: one is not installed.
    """
    missing = [module for module in ("pyarrow", "numpy", "httpx") if find_spec(module) is None]
    if missing:
        raise ConfigurationError(
            f"frames need {', '.join(missing)}, which this environment lacks: pip install 'pravega-jobs[arrow]'"
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
        if (package, name) not in _READERS:
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
        from pravega_jobs import frames

        reader = _READERS[self.package, self.name]
        more = {"largest": largest} if reader in _WHOLE else {}
        return getattr(frames, reader)(of, registry=registry, **more, **options)
