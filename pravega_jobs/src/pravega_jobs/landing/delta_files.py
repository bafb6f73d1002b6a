"""Files of a landing in the log of a Delta table: added as they are, or read again to replace others, in one commit."""

import json
import time
from typing import TYPE_CHECKING, Any, Final

from pravega_jobs.landing.delta_holdings import predicate
from pravega_jobs.landing.rules import OWN_COLUMNS, Holding
from pravega_jobs.landing.staged_files import StagedFiles

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MILLISECONDS: Final = 1000


def add(table: "DeltaTable", staged: StagedFiles, folder: str, holding: Holding, properties: Any) -> None:
    """Add files in a folder of the table to its log."""
    from deltalake.transaction import AddAction, RemoveAction

    from pravega_jobs.landing.delta_partitions import texts_of

    texts = dict(zip(OWN_COLUMNS, (holding.consumer, holding.interval), strict=True))
    left_out = {column.name for _, column in staged.left_out}
    bounds = {name: text for name, text in texts.items() if name not in left_out}
    actions: list[AddAction | RemoveAction] = [
        AddAction(
            path=f"{folder}/{file.name}",  # as it is: deltalake encodes it for the log
            size=file.size,
            partition_values=texts_of(staged.split, file),
            modification_time=int(time.time() * _MILLISECONDS),
            data_change=True,
            stats=json.dumps({"numRecords": file.rows, "minValues": bounds, "maxValues": bounds}),
        )
        for file in staged.files
    ]
    table.create_write_transaction(
        actions,
        mode="append",
        schema=table.schema(),
        partition_by=table.metadata().partition_columns,
        commit_properties=properties,
    )


def replace(table: "DeltaTable", staged: StagedFiles, holding: Holding, properties: Any) -> None:
    """Write the rows, and remove those that the interval has, in one commit."""
    from deltalake import write_deltalake

    from pravega_jobs.landing.delta_partitions import whole_rows

    write_deltalake(
        table,
        whole_rows(staged, table),
        mode="overwrite",
        schema_mode="merge",  # the rows may lack columns
        predicate=predicate(holding.consumer, holding.interval),
        commit_properties=properties,
    )
