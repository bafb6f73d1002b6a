"""A program that changes two tables all the time, in SQL that PostgreSQL and MariaDB both take.

It needs to know nothing of what is there: what is true is what the database has.
"""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, Self

from tests.faults.process import wait_until

FIRST_ROWS: Final = 200
# Rows of negative keys are marks: as many as it takes for each segment of a stream to have some.
MARKS: Final = 40
_KEYS: Final = 400
_LINES: Final = 3
_STATEMENTS: Final = 8  # of a transaction, at most
_PAUSE_SECONDS: Final = 0.03
# The values' length in bytes is over 2 kB: PostgreSQL stores them apart, and does not send them with later updates.
_LARGE: Final = "repeat('{}', 700)"
_WORDS: Final = ("plain", "É 漢", "it''s", "", "a, b", '{"json": 1}')


class AwayError(Exception):
    """The database does not answer: it was killed."""


class Database(Protocol):
    """What a test needs of a database server; `schema` is the middle of its streams' names."""

    schema: str

    def __init__(self, folder: Path) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def source(self, folder: Path) -> dict[str, str]: ...
    def run(self, statements: str) -> None: ...
    def rows(self, *queries: str) -> list[list[tuple[Any, ...]]]: ...
    def kill(self) -> None: ...
    def start(self) -> None: ...


def first_rows() -> str:
    """What the tables have before Debezium starts, the marks among it."""
    choose = random.Random(0)
    made = [_account(choose, id_) for id_ in range(FIRST_ROWS)]
    made += [_item(choose, id_, line) for id_ in range(FIRST_ROWS // _LINES) for line in range(_LINES)]
    for number in range(1, MARKS + 1):
        made += [f"insert into accounts (id, owner) values ({-number}, 'mark')"]
        made += [f"insert into order_items (order_id, line) values ({-number}, 0)"]
    return ";\n".join(made)


def mark(number: int) -> str:
    """Statements that mark a moment."""
    rows = ", ".join(f"({-each}, 'mark {number}')" for each in range(1, MARKS + 1))
    return (
        f"update accounts set note = 'mark {number}' where id < 0;\n"
        f"update order_items set sku = 'mark {number}' where order_id < 0;\n"
        f"delete from extras where id < 0;\ninsert into extras (id, note) values {rows}"
    )


class Load:
    """Writes in a thread as long as the `with` lasts; a database that is away is waited for."""

    def __init__(self, database: Database, seed: int) -> None:
        self.transactions = self.failed = 0
        self._database = database
        self._choose = random.Random(seed)
        self._turn, self._over = threading.Lock(), threading.Event()
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Between two transactions; none begins as long as this lasts."""
        with self._turn:
            yield

    def more(self, count: int) -> None:
        """Wait until it has done so many more transactions."""
        goal = self.transactions + count
        wait_until(lambda: self._alive() and self.transactions >= goal, lambda: f"{self.transactions} of {goal}")

    def _alive(self) -> bool:
        if self._problem is not None:
            raise self._problem
        return True

    def _run(self) -> None:
        try:
            while not self._over.wait(_PAUSE_SECONDS):
                with self._turn:
                    try:
                        self._database.run(transaction(self._choose))
                        self.transactions += 1
                    except AwayError:
                        self.failed += 1
        except BaseException as error:  # noqa: BLE001 - the test's own thread raises it
            self._problem = error


def transaction(choose: random.Random) -> str:
    """Statements of one transaction."""
    return ";\n".join(_statement(choose) for _ in range(choose.randint(1, _STATEMENTS)))


def _statement(choose: random.Random) -> str:
    id_, line, n = choose.randrange(_KEYS), choose.randrange(_LINES), choose.randrange(1, 1000)
    account, item = f"id = {id_}", f"order_id = {id_} and line = {line}"
    kinds = {
        f"delete from accounts where {account};\n{_account(choose, id_)}": 20,
        f"update accounts set balance = {n / 100}, note = {_text(choose)} where {account}": 15,
        f"update accounts set seen = {_moment(choose)} where id between {id_} and {id_ + 3}": 5,
        f"delete from accounts where {account}": 8,
        # The key of a row changes: for Debezium a delete and an insert, in two segments.
        f"delete from accounts where id = {id_ + _KEYS};\nupdate accounts set id = id + {_KEYS} where {account}": 6,
        f"delete from order_items where {item};\n{_item(choose, id_, line)}": 18,
        f"update order_items set qty = qty + {n} where {item}": 15,
        f"update order_items set big = {_large(choose)} where {item}": 5,
        f"update order_items set big = null, qty = {n} where {item}": 2,
        f"delete from order_items where order_id = {id_}": 6,
    }
    return choose.choices(list(kinds), list(kinds.values()))[0]


def _account(choose: random.Random, id_: int) -> str:
    balance = choose.choice(("null", "-0.01", "9999999999.99", f"{choose.randrange(10**6) / 100}"))
    opened = choose.choice(("null", f"'{choose.randint(1900, 2099)}-{choose.randint(1, 12):02}-28'"))
    return (
        f"insert into accounts values ({id_}, {_text(choose)}, {balance}, {opened}, {_moment(choose)}, {_text(choose)})"
    )


def _item(choose: random.Random, id_: int, line: int) -> str:
    qty = choose.choice((1, 9007199254740993, choose.randrange(100)))
    return f"insert into order_items values ({id_}, {line}, {_text(choose)}, {qty}, {_large(choose)})"


def _text(choose: random.Random) -> str:
    return f"'{choose.choice(_WORDS)} {choose.randrange(10**6)}'"


def _large(choose: random.Random) -> str:
    return choose.choice((_LARGE.format(f"{choose.randrange(10**6):06}"), "'small'"))


def _moment(choose: random.Random) -> str:
    return f"'20{choose.randint(10, 30)}-02-28 23:59:{choose.randrange(60):02}.{choose.randrange(10**6):06}'"
