"""Sinks of one write, as assets declare them: streams and tables, with the options of the write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import dagster as dg

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.spec import pravega_stream_spec
from dagster_pravega.resources.table_keys import TABLE_KEY, TableKeys
from pravega_jobs.landing import kind_of_table
from pravega_jobs.landing.errors import check_errors, check_write_errors
from pravega_jobs.spark.options import ERRORS_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Sinks:
    """The sinks of a write, by the names that the function gives them, and the options of the write.

    `targets` are the streams, and the texts of the tables. `kind` is the type of the function's parameter; None: the
    default of the IO manager.
    """

    divide: Callable[[Any], Mapping[str, Any]] | str
    targets: Mapping[str, StreamName | str]
    specs: Sequence[dg.AssetSpec]
    tables: TableKeys
    upstream: dg.AssetKey
    kind: Any
    errors: str | None
    most_errors: int | str | None
    event_pointer: str | None
    errors_of: str | None
    options: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        *,
        divide: Callable[[Any], Mapping[str, Any]] | str,
        into: Mapping[str, str],
        prefix: Sequence[str],
        keys: TableKeys,
        upstream: dg.AssetKey,
        errors: str | None,
        most_errors: int | str | None,
        event_pointer: str | None,
        errors_of: str | None,
        options: Mapping[str, Any] | None,
    ) -> "Sinks":
        """Check the sinks; no server is asked.

        Raises:
            ConfigurationError: as of `build_several_sinks`.
        """
        targets = {each: StreamName.parse(text) if _is_stream(text) else text for each, text in into.items()}
        streams = [target for target in targets.values() if isinstance(target, StreamName)]
        if not streams or len(set(targets.values())) != len(targets):
            raise ConfigurationError(
                f"into is {dict(into)!r}, but must name at least one stream, as scope/stream, and each sink once. Rows "
                "for one table only are kept: use build_kept_table or build_landed_asset"
            )
        if isinstance(divide, str) and len(streams) != len(targets):
            raise ConfigurationError(
                f"column {divide!r} divides rows among streams, and into has tables: give a function that returns the "
                "rows of each"
            )
        given = dict(options or {})
        twice = [each for each in given if str(each).lower() in ERRORS_OPTIONS]
        if twice:
            raise ConfigurationError(f"output_options has {twice[0]!r}: give it as an argument of its own")
        if errors_of is not None and (not isinstance(divide, str) or errors is None or errors_of not in targets):
            raise ConfigurationError(
                f"errors_of is {errors_of!r}, but must be a name of into, beside errors and a column that divides the "
                "rows"
            )
        check_errors(errors, most_errors)
        if errors is not None:
            check_write_errors(errors)
        specs = [_spec(dg.AssetKey([*prefix, *each.split("/")]), text, keys) for each, text in into.items()]
        return cls(
            divide=divide,
            targets=targets,
            specs=specs,
            tables=keys,
            upstream=upstream,
            kind=_type_of(divide),
            errors=errors,
            most_errors=most_errors,
            event_pointer=event_pointer,
            errors_of=errors_of,
            options=given,
        )

    @property
    def keys(self) -> list[dg.AssetKey]:
        """The keys of the assets."""
        return [spec.key for spec in self.specs]

    @property
    def streams(self) -> dict[str, StreamName]:
        """The streams by their names; the first of them by its own name is that of the record."""
        found = [(each, target) for each, target in self.targets.items() if isinstance(target, StreamName)]
        return dict(sorted(found, key=lambda pair: str(pair[1])))

    def divided(self, events: Any) -> dict[str, Any]:
        """The rows for each sink, by the function.

        Raises:
            ConfigurationError: it returns something else.
        """
        assert not isinstance(self.divide, str)
        made: Any = self.divide(events)
        found = sorted(map(str, made)) if isinstance(made, Mapping) else type(made).__name__
        if not isinstance(made, Mapping) or made.keys() != self.targets.keys():
            raise ConfigurationError(
                f"the function has returned {found}, but must return a mapping with rows for each of "
                f"{sorted(self.targets)}: a table without rows for a sink that gets none"
            )
        return dict(made)


def _is_stream(text: str) -> bool:
    return ":" not in text and "/" in text


def _spec(key: dg.AssetKey, text: str, tables: TableKeys) -> dg.AssetSpec:
    if _is_stream(text):
        return pravega_stream_spec(text, key=key)
    kind = kind_of_table(tables.check(text))
    return dg.AssetSpec(key, kinds=set() if kind is None else {kind.icon}, metadata={TABLE_KEY: text})


def _type_of(divide: Callable[[Any], Mapping[str, Any]] | str) -> Any:
    """The type of a function's first parameter; None: it has none. A column needs one pass over record batches."""
    if isinstance(divide, str):
        from pyarrow import RecordBatchReader

        return RecordBatchReader
    try:
        hints = {name: hint for name, hint in get_type_hints(divide).items() if name != "return"}
    except NameError as error:
        raise ConfigurationError(
            f"the type of the function's parameter is not known when it is loaded ({error}): import it, and not for "
            "type checkers only"
        ) from None
    except TypeError:  # a callable object, such as a partial function
        return None
    return next(iter(hints.values()), None)
