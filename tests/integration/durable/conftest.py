"""The cluster whose processes the tests kill."""

from collections.abc import Iterator

import pytest
from tests.integration.durable import OFTEN, TOKEN_SECONDS

from pravega_emulator import Account, DurablePravega

# Of one scope and one of its streams; and it may see which scopes there are.
OWN_SCOPE = "prn::/,READ;prn::/scope:mine,READ_UPDATE;prn::/scope:mine/stream:orders,READ_UPDATE"


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DurablePravega]:
    """A cluster with TLS, accounts and short-lived tokens; a test that kills a process restarts it."""
    accounts = [
        Account("admin", "the-same-at-every-start"),
        Account("clerk", "of-the-clerk", OWN_SCOPE),
        Account("lodger", "of-the-lodger"),  # whose password a test changes
    ]
    folder = tmp_path_factory.mktemp("durable")
    with DurablePravega(
        tls=True, auth=True, accounts=accounts, data=folder, token_seconds=TOKEN_SECONDS, settings=OFTEN
    ) as running:
        yield running
