"""Points in time as texts, such as 2024-02-29T23:59:59.123456789Z, as whole columns.

Arrow reads texts of microseconds with six digits behind the point at most. SQL Server, Oracle, Go and Java write up to
nine: the digits after the sixth are cut off.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

# A time whose fraction has more digits than microseconds have.
LONG: Final = r":\d\d\.\d{7}"
_FRACTION: Final = r"(:\d\d\.\d{6})\d{1,3}"
_ZONED: Final = r"(Z|:[0-9.]+[+-]\d\d(:?\d\d)?)$"
_MICROS: Final = pa.timestamp("us")


def times_of(texts: pa.Array) -> pa.Array:
    """Texts as points in time without a zone, in UTC; a text without a zone is a time in UTC.

    Raises:
        ArrowInvalid: a text is not a time, or has more than nine digits behind the point.
    """
    cut = pc.replace_substring_regex(texts, _FRACTION, r"\1")
    zoned = pc.match_substring_regex(cut, _ZONED)
    nothing = pa.nulls(len(cut), pa.string())
    instants = pc.if_else(zoned, cut, nothing).cast(pa.timestamp("us", tz="UTC"))
    return pc.coalesce(instants.cast(pa.int64()).cast(_MICROS), pc.if_else(zoned, nothing, cut).cast(_MICROS))
