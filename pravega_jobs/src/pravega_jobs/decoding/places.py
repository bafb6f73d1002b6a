"""Names of columns that a read adds to the fields of events."""

from collections.abc import Collection, Sequence

from aiopravega.errors import ConfigurationError


def check_clashes(names: Sequence[str], fields: Collection[str]) -> None:
    """Refuse columns that have the names of fields, in any case.

    Raises:
        ConfigurationError: a field is named as a column.
    """
    taken = {name.lower() for name in fields}
    clashing = [name for name in names if name.lower() in taken]
    if clashing:
        raise ConfigurationError(
            f"the events have fields that are named as columns of the read: {', '.join(clashing)}. Give option "
            "'metadata_prefix', which is put in front of the names of metadata columns, ask for fewer of them, or read "
            "the events raw and decode them in Spark"
        )
