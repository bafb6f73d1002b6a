"""Mistakes in the real code of the cut ledger that the search must find; see `planted`."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from aiopravega.errors import TableConflictError
from aiopravega.ledger import CutLedger, CutRecord, IntervalState
from aiopravega.ledger.intervals.cut_entries import CutEntries
from aiopravega.ledger.intervals.cut_states import _waiting_to
from aiopravega.tables import KeyValueTable


def records_a_range_without_a_condition(patch: pytest.MonkeyPatch) -> None:
    async def replace(self: KeyValueTable, key: bytes, value: bytes, _: int) -> int:
        return await self.put(key, value)

    patch.setattr(KeyValueTable, "replace", replace)
    patch.setattr(KeyValueTable, "put_if_absent", KeyValueTable.put)


def claims_without_reading_again(patch: pytest.MonkeyPatch) -> None:
    real = CutLedger.claim

    async def claim(self: CutLedger, interval: Any, taken: Any, **more: Any) -> Any:
        with suppress(TableConflictError):
            await self._table.put_if_absent(
                interval.key, (made := CutRecord.new(interval, taken, by="nobody", number=0)).to_json()
            )
            return made
        found = await real(self, interval, taken, **more)
        return found.model_copy(update={"start": taken.start.to_text(), "end": taken.end.to_text()})

    patch.setattr(CutLedger, "claim", claim)


def finishes_whatever_has_become_of_the_range(patch: pytest.MonkeyPatch) -> None:
    real = CutEntries._change

    async def change(self: CutEntries, interval: Any, how: Callable[[Any], Any]) -> Any:
        def anyhow(record: Any) -> Any:
            try:
                return how(record)
            except Exception:  # noqa: BLE001 - the mistake is that nothing is refused
                return record.changed(IntervalState.DONE, "nobody")

        return await real(self, interval, anyhow)

    patch.setattr(CutEntries, "_change", change)


def gives_back_in_two_steps(patch: pytest.MonkeyPatch) -> None:
    """As the ledger did until the search found this."""

    async def give_back(self: CutLedger, interval: Any, reason: str, *, by: str | None = None) -> Any:
        last = await self._deciding(interval)
        assert last is not None
        given = await self._change(interval, _waiting_to(IntervalState.GIVEN_BACK, interval, reason, by))
        try:
            await self._table.replace(interval.last_key, given.to_json(), last.version)
        except TableConflictError:
            await self._change(interval, lambda record: record.changed(IntervalState.OPEN, by, "not given back"))
            raise
        return given

    patch.setattr(CutLedger, "give_back", give_back)
